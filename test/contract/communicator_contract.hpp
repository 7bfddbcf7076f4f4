// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what every communicator promises, as tests: written once, instantiated for each implementation.
// Used: the contract tests; INSTANTIATE_TEST_SUITE_P(…, CommunicatorContract, testing::Values(RankRunner{…})).
// Must not know: any implementation.
#pragma once

#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "core/base/error.hpp"
#include "test/contract/communicator_fixture.hpp"

namespace tessera::test {

class CommunicatorContract : public testing::TestWithParam<RankRunner> {
 protected:
  /// Runs `body(communicator, calls)` on all ranks.
  template <class Body>
  void on_ranks(const Body& body) {
    GetParam().run([&](Communicator& communicator) {
      ASSERT_EQ(communicator.size(), GetParam().ranks);
      Calls calls(communicator);
      body(communicator, calls);
    });
  }
};

using Counts = std::vector<std::int64_t>;

inline std::int64_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}
inline std::int64_t first_of(const Counts& counts, int member) {
  return std::accumulate(counts.begin(), counts.begin() + member, std::int64_t{0});
}

/// Uneven counts; some are zero, some odd.
inline Counts uneven_counts(int members, std::int64_t scale) {
  Counts counts;
  for (int member = 0; member < members; ++member) {
    counts.push_back(member % 3 == 1 ? 0 : scale * (member + 1) + member);
  }
  return counts;
}

// Empty, one, odd, a length that leaves the last ranks without a part, longer than an internal block.
constexpr std::int64_t k_counts[] = {0, 1, 5, 1024, 4999};

TEST_P(CommunicatorContract, AllReduceIsTheSerialReductionInOrderOfRanks) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    for_each_element_type([&]<class T>(T) {
      for (const std::int64_t count : k_counts) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
          auto values = elements<T>(communicator.rank(), count);
          communicator.all_reduce(view(values), op, calls.context(CallKind::all_reduce, count, dtype_of<T>)).wait();
          EXPECT_TRUE(same_bits(values, reduced<T>(communicator.size(), count, op)))
              << name_of(dtype_of<T>) << " " << name_of(op) << " of " << count;
        }
      }
    });
  });
}

TEST_P(CommunicatorContract, SumsOf16BitsAreRoundedOnce) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    const int ranks = communicator.size();
    // A running bf16 sum would stay at 256 (f16: 2048), whose neighbour is 2 away.
    Values<BFloat16> bf16(3, BFloat16(communicator.rank() == 0 ? 256.0F : 1.0F));
    Values<Float16> f16(3, Float16(communicator.rank() == 0 ? 2048.0F : 1.0F));
    communicator.all_reduce(view(bf16), ReduceOp::sum, calls.context(CallKind::all_reduce, 3, DType::bf16)).wait();
    communicator.all_reduce(view(f16), ReduceOp::sum, calls.context(CallKind::all_reduce, 3, DType::f16)).wait();
    EXPECT_EQ(bf16[2].bits, float_to_bf16(255.0F + static_cast<float>(ranks)));
    EXPECT_EQ(f16[2].bits, float_to_f16(2047.0F + static_cast<float>(ranks)));
  });
}

TEST_P(CommunicatorContract, MaximumKeepsNaN) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    for (int bad = 0; bad < communicator.size(); ++bad) {
      Values<float> values{communicator.rank() == bad ? NAN : 1.0F, static_cast<float>(communicator.rank())};
      communicator.all_reduce(view(values), ReduceOp::max, calls.context(CallKind::all_reduce, 2)).wait();
      EXPECT_TRUE(std::isnan(values[0])) << bad;
      EXPECT_EQ(values[1], static_cast<float>(communicator.size() - 1));
    }
  });
}

TEST_P(CommunicatorContract, ReduceScatterWithUnevenCounts) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    for_each_element_type([&]<class T>(T) {
      const Counts counts = uneven_counts(communicator.size(), 301);
      const std::int64_t total = sum_of(counts);
      const std::int64_t first = first_of(counts, communicator.rank());
      const std::int64_t mine = counts[static_cast<std::size_t>(communicator.rank())];
      const auto expected = reduced<T>(communicator.size(), mine, ReduceOp::sum, first);
      auto in = elements<T>(communicator.rank(), total);
      const auto before = in;
      Values<T> out(static_cast<std::size_t>(mine));
      const auto context = calls.context(CallKind::reduce_scatter, total, dtype_of<T>);
      communicator.reduce_scatter(view(in), view(out), counts, ReduceOp::sum, context).wait();
      EXPECT_TRUE(same_bits(out, expected)) << name_of(dtype_of<T>);
      EXPECT_TRUE(same_bits(in, before)) << "the input was changed";
      communicator.reduce_scatter(view(in), part(in, first, mine), counts, ReduceOp::sum, context).wait();
      EXPECT_TRUE(same_bits({in.begin() + first, in.begin() + first + mine}, expected)) << "in place";
    });
  });
}

TEST_P(CommunicatorContract, AllGatherWithUnevenCounts) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    for_each_element_type([&]<class T>(T) {
      const Counts counts = uneven_counts(communicator.size(), 257);
      Values<T> expected;
      for (int member = 0; member < communicator.size(); ++member) {
        const auto theirs = elements<T>(member, counts[static_cast<std::size_t>(member)]);
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      const std::int64_t first = first_of(counts, communicator.rank());
      auto mine = elements<T>(communicator.rank(), counts[static_cast<std::size_t>(communicator.rank())]);
      const auto context = calls.context(CallKind::all_gather, std::ssize(mine), dtype_of<T>);
      Values<T> out(expected.size());
      communicator.all_gather(view(mine), view(out), counts, context).wait();
      EXPECT_TRUE(same_bits(out, expected)) << name_of(dtype_of<T>);
      Values<T> in_place(expected.size());
      std::copy(mine.begin(), mine.end(), in_place.begin() + first);
      communicator.all_gather(part(in_place, first, std::ssize(mine)), view(in_place), counts, context).wait();
      EXPECT_TRUE(same_bits(in_place, expected)) << "in place";
    });
  });
}

TEST_P(CommunicatorContract, AllToAllWithUnevenCounts) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    const int ranks = communicator.size();
    const auto count = [](int from, int to) -> std::int64_t {
      return (from + 2 * to) % 3 == 1 ? 0 : 97 * from + 31 * to + 1;
    };
    for_each_element_type([&]<class T>(T) {
      Counts send_counts;
      Counts receive_counts;
      Values<T> in;
      Values<T> expected;
      for (int member = 0; member < ranks; ++member) {
        send_counts.push_back(count(communicator.rank(), member));
        receive_counts.push_back(count(member, communicator.rank()));
        const auto sent = elements<T>(communicator.rank(), send_counts.back(), 1000 * member);
        const auto received = elements<T>(member, receive_counts.back(), 1000 * communicator.rank());
        in.insert(in.end(), sent.begin(), sent.end());
        expected.insert(expected.end(), received.begin(), received.end());
      }
      Values<T> out(expected.size());
      const auto context = calls.context(CallKind::all_to_all, std::ssize(in), dtype_of<T>);
      communicator.all_to_all(view(in), send_counts, view(out), receive_counts, context).wait();
      EXPECT_TRUE(same_bits(out, expected)) << name_of(dtype_of<T>);
    });
  });
}

TEST_P(CommunicatorContract, BroadcastFromEveryRoot) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    for (int root = 0; root < communicator.size(); ++root) {
      for (const std::int64_t count : k_counts) {
        auto values = elements<double>(communicator.rank(), count);
        const auto context = calls.context(CallKind::broadcast, count, DType::f64);
        communicator.broadcast(view(values), root, context).wait();
        EXPECT_TRUE(same_bits(values, elements<double>(root, count))) << "root " << root << ", " << count;
      }
    }
  });
}

TEST_P(CommunicatorContract, MessagesOfAPairArriveInOrder) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    if (communicator.size() == 1) {
      return;
    }
    // Small and large messages mixed; each rank sends to all, receives from all.
    constexpr int k_messages = 6;
    const auto count = [](int message) { return std::int64_t{message % 2 == 0 ? 3 : 20000} + message; };
    std::vector<Values<float>> sent;
    std::vector<Values<float>> received;
    std::vector<Work> works;
    sent.reserve(100);
    received.reserve(100);
    for (int step = 1; step < communicator.size(); ++step) {
      const int to = (communicator.rank() + step) % communicator.size();
      const int from = (communicator.rank() + communicator.size() - step) % communicator.size();
      for (int message = 0; message < k_messages; ++message) {
        sent.push_back(elements<float>(communicator.rank(), count(message), 100 * message + to));
        works.push_back(communicator.send(view(sent.back()), to, calls.context(CallKind::send)));
        received.emplace_back(static_cast<std::size_t>(count(message)));
        works.push_back(communicator.receive(view(received.back()), from, calls.context(CallKind::receive)));
      }
    }
    for (Work& work : works) {
      work.wait();
    }
    std::size_t place = 0;
    for (int step = 1; step < communicator.size(); ++step) {
      const int from = (communicator.rank() + communicator.size() - step) % communicator.size();
      for (int message = 0; message < k_messages; ++message) {
        const auto expected = elements<float>(from, count(message), 100 * message + communicator.rank());
        EXPECT_TRUE(same_bits(received[place++], expected)) << "message " << message << " from " << from;
      }
    }
  });
}

TEST_P(CommunicatorContract, MessagesAndBroadcastsOfEveryElementType) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    const int right = (communicator.rank() + 1) % communicator.size();
    const int left = (communicator.rank() + communicator.size() - 1) % communicator.size();
    for_each_element_type([&]<class T>(T) {
      for (const std::int64_t count : k_counts) {
        auto values = elements<T>(communicator.rank(), count);
        Values<T> received(static_cast<std::size_t>(count));
        if (communicator.size() > 1) {
          Work sent = communicator.send(view(values), right, calls.context(CallKind::send));
          communicator.receive(view(received), left, calls.context(CallKind::receive)).wait();
          sent.wait();
          EXPECT_TRUE(same_bits(received, elements<T>(left, count))) << name_of(dtype_of<T>) << ", " << count;
        }
        communicator.broadcast(view(values), 0, calls.context(CallKind::broadcast, count, dtype_of<T>)).wait();
        EXPECT_TRUE(same_bits(values, elements<T>(0, count))) << name_of(dtype_of<T>) << ", " << count;
      }
    });
  });
}

TEST_P(CommunicatorContract, SmallSendsOfARingMayBeWaitedForFirst) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    if (communicator.size() == 1) {
      return;
    }
    const int right = (communicator.rank() + 1) % communicator.size();
    const int left = (communicator.rank() + communicator.size() - 1) % communicator.size();
    for (int round = 0; round < 10; ++round) {
      auto mine = elements<float>(communicator.rank(), 100, round);
      Values<float> theirs(100);
      communicator.send(view(mine), right, calls.context(CallKind::send)).wait();
      communicator.receive(view(theirs), left, calls.context(CallKind::receive)).wait();
      EXPECT_TRUE(same_bits(theirs, elements<float>(left, 100, round))) << round;
    }
  });
}

TEST_P(CommunicatorContract, ManyCallsMayBeOutstanding) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    constexpr int k_calls = Communicator::k_slots;
    for (const bool backwards : {false, true}) {
      std::vector<Values<float>> values;
      std::vector<Work> works;
      for (int call = 0; call < k_calls; ++call) {
        values.push_back(elements<float>(communicator.rank(), 50 + call, call));
        const View data = view(values.back());
        works.push_back(
            call % 4 == 3
                ? communicator.broadcast(data, call % communicator.size(), calls.context(CallKind::broadcast))
                : communicator.all_reduce(data, ReduceOp::sum, calls.context(CallKind::all_reduce, data.count)));
      }
      for (int i = 0; i < k_calls; ++i) {
        const int call = backwards ? k_calls - 1 - i : i;
        works[static_cast<std::size_t>(call)].wait();
        const auto expected = call % 4 == 3 ? elements<float>(call % communicator.size(), 50 + call, call)
                                            : reduced<float>(communicator.size(), 50 + call, ReduceOp::sum, call);
        EXPECT_TRUE(same_bits(values[static_cast<std::size_t>(call)], expected)) << call;
      }
    }
  });
}

TEST_P(CommunicatorContract, TestAdvancesACall) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    auto values = elements<float>(communicator.rank(), 3000);
    Work work = communicator.all_reduce(view(values), ReduceOp::sum, calls.context(CallKind::all_reduce, 3000));
    while (!work.test()) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(work.test()) << "stays done";
    EXPECT_TRUE(same_bits(values, reduced<float>(communicator.size(), 3000, ReduceOp::sum)));
    EXPECT_TRUE(Work().test()) << "a default one is done";
  });
}

// A wait advances what the same rank has posted elsewhere: otherwise each would wait for the other's unfinished call.
TEST_P(CommunicatorContract, CallsOfTwoGroupsMayBeWaitedForInAnyOrder) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    const auto other = communicator.split(0, 0);
    Calls other_calls(*other);
    for (int round = 0; round < 5; ++round) {
      auto a = elements<float>(communicator.rank(), 20000, round);
      auto b = elements<double>(communicator.rank(), 20000, round);
      Work first = communicator.all_reduce(view(a), ReduceOp::sum, calls.context(CallKind::all_reduce, 20000));
      Work second =
          other->all_reduce(view(b), ReduceOp::sum, other_calls.context(CallKind::all_reduce, 20000, DType::f64));
      if (communicator.rank() % 2 == 0) {
        first.wait();
        second.wait();
      } else {
        second.wait();
        first.wait();
      }
      EXPECT_TRUE(same_bits(a, reduced<float>(communicator.size(), 20000, ReduceOp::sum, round)));
      EXPECT_TRUE(same_bits(b, reduced<double>(communicator.size(), 20000, ReduceOp::sum, round)));
    }
  });
}

TEST_P(CommunicatorContract, SplitGroupsByColourAndOrdersByKey) {
  on_ranks([](Communicator& communicator, Calls&) {
    const int ranks = communicator.size();
    // Parity is the colour, the key turns the order round.
    const auto half = communicator.split(communicator.rank() % 2, -communicator.rank());
    ASSERT_NE(half, nullptr);
    std::vector<int> expected;
    for (int rank = ranks - 1; rank >= 0; --rank) {
      if (rank % 2 == communicator.rank() % 2) {
        expected.push_back(communicator.world_ranks()[static_cast<std::size_t>(rank)]);
      }
    }
    EXPECT_EQ(std::vector<int>(half->world_ranks().begin(), half->world_ranks().end()), expected);
    EXPECT_EQ(expected[static_cast<std::size_t>(half->rank())],
              communicator.world_ranks()[static_cast<std::size_t>(communicator.rank())]);

    // The parts work, and so do parts of parts with equal keys (order of ranks).
    Calls calls(*half);
    Values<float> sum{static_cast<float>(1 << communicator.rank())};
    half->all_reduce(view(sum), ReduceOp::sum, calls.context(CallKind::all_reduce, 1)).wait();
    float expected_sum = 0;
    for (const int rank : expected) {
      expected_sum += static_cast<float>(1 << rank);
    }
    EXPECT_EQ(sum[0], expected_sum);
    const auto same = half->split(7, 0);
    EXPECT_EQ(same->rank(), half->rank());
    EXPECT_EQ(same->size(), half->size());

    // A negative colour takes no part.
    const auto first_only = communicator.split(communicator.rank() == 0 ? 0 : -1, 0);
    EXPECT_EQ(first_only != nullptr, communicator.rank() == 0);
  });
}

TEST_P(CommunicatorContract, AgreeIsTrueOnlyIfAllAre) {
  on_ranks([](Communicator& communicator, Calls&) {
    EXPECT_TRUE(communicator.agree(true));
    EXPECT_FALSE(communicator.agree(false));
    for (int against = 0; against < communicator.size(); ++against) {
      EXPECT_FALSE(communicator.agree(communicator.rank() != against)) << against;
    }
    communicator.barrier();
    EXPECT_TRUE(communicator.agree(true));
  });
}

TEST_P(CommunicatorContract, CountsCallsAndBytesHandedOver) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    const std::int64_t calls_before = communicator.calls();
    const std::int64_t bytes_before = communicator.bytes();
    Values<float> values(6);
    communicator.all_reduce(view(values), ReduceOp::sum, calls.context(CallKind::all_reduce, 6)).wait();
    communicator.broadcast(view(values), 0, calls.context(CallKind::broadcast, 6)).wait();
    communicator.barrier();
    EXPECT_EQ(communicator.calls() - calls_before, 3);
    EXPECT_EQ(communicator.bytes() - bytes_before, communicator.rank() == 0 ? 48 : 24);
  });
}

TEST_P(CommunicatorContract, WrongArgumentsAreRefusedBeforeAnythingIsSent) {
  on_ranks([](Communicator& communicator, Calls& calls) {
    const auto expect_refused = [](const std::function<void()>& call, const std::string& words) {
      try {
        call();
        FAIL() << "not refused: " << words;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::internal);
        EXPECT_THAT(error.what(), testing::HasSubstr(words));
      }
    };
    Values<float> values(4);
    Values<double> doubles(4);
    const Counts ones(static_cast<std::size_t>(communicator.size()), 1);
    const Counts too_many(static_cast<std::size_t>(communicator.size()) + 1, 1);
    const auto context = calls.context(CallKind::all_reduce, 4);
    expect_refused([&] { (void)communicator.broadcast(view(values), communicator.size(), context); },
                   "broadcast with rank");
    expect_refused([&] { (void)communicator.send(view(values), -1, context); }, "send with rank -1");
    expect_refused([&] { (void)communicator.receive(view(values), communicator.rank(), context); }, "itself");
    expect_refused([&] { (void)communicator.all_gather(part(values, 0, 1), view(values), too_many, context); },
                   "counts for");
    expect_refused([&] { (void)communicator.all_gather(part(values, 0, 1), part(values, 0, 0), ones, context); },
                   "counts add up to");
    expect_refused(
        [&] { (void)communicator.reduce_scatter(view(doubles), view(values), ones, ReduceOp::sum, context); },
        "from f64 to f32");
    expect_refused(
        [&] {
          (void)communicator.all_reduce({nullptr, 4, DType::f32}, ReduceOp::sum, context);
        },
        "without memory");
    if (communicator.workspace_bytes(CallKind::all_reduce, 4, DType::f32) > 0) {
      expect_refused(
          [&] {
            (void)communicator.all_reduce(view(values), ReduceOp::sum, {context.stream, {}});
          },
          "bytes of workspace");
    }
    EXPECT_TRUE(communicator.agree(true)) << "the group still works";
  });
}

}  // namespace tessera::test
