// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/thread_communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/error.hpp"
#include "core/device/immediate_stream.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

/// One all-reduce of a few elements.
void all_reduce(Communicator& world, std::int64_t count = 4) {
  ImmediateStream stream;
  std::vector<float> values(static_cast<std::size_t>(count));
  world.all_reduce({values.data(), count, DType::f32}, ReduceOp::sum, {stream, {}}).wait();
}

/// The error that `run_ranks` throws.
template <class Body>
Error failure_of(int ranks, const Body& body) {
  try {
    run_ranks(ranks, body);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorKind::internal, "");
}

TEST(RunRanks, GivesEachThreadItsRank) {
  std::vector<int> seen(5, -1);
  run_ranks(5, [&](Communicator& world) {
    EXPECT_EQ(world.size(), 5);
    seen[static_cast<std::size_t>(world.rank())] = world.world_ranks()[static_cast<std::size_t>(world.rank())];
  });
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(RunRanks, AFailingRankEndsTheWaitsOfTheOthers) {
  std::atomic<int> lost{0};
  const auto wait_in_vain = [&](Communicator& world, const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "rank " << world.rank() << " was served";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::peer_lost);
      EXPECT_THAT(error.what(), HasSubstr("rank 2 of 4 failed: no more paper"));
      ++lost;
      throw;
    }
  };
  const Error error = failure_of(4, [&](Communicator& world) {
    const auto part = world.split(world.rank() % 2, 0);
    ImmediateStream stream;
    float value = 0;
    switch (world.rank()) {
      case 0:  // in a group of the one that fails
        return wait_in_vain(world, [&] { all_reduce(*part); });
      case 1:  // in a message
        return wait_in_vain(world, [&] { world.receive({&value, 1, DType::f32}, 2, {stream, {}}).wait(); });
      case 3:  // by testing
        return wait_in_vain(world, [&] {
          Work work = world.broadcast({&value, 1, DType::f32}, 0, {stream, {}});
          while (!work.test()) {
            std::this_thread::yield();
          }
        });
      default:
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        throw Error(ErrorKind::io, "no more paper");
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::io) << "the first exception, not one that follows from it";
  EXPECT_EQ(lost, 3);
}

// Under the sanitizers: a rank that learns of the failure frees buffers that another one is still summing.
TEST(RunRanks, NobodyLeavesWhileItsBuffersAreRead) {
  for (int round = 0; round < 20; ++round) {
    const Error error = failure_of(4, [&](Communicator& world) {
      const auto part = world.split(world.rank() / 2, 0);
      ImmediateStream stream;
      if (world.rank() == 2) {
        std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
        throw Error(ErrorKind::io, "no more paper");
      }
      while (true) {
        std::vector<float> values(1 << 18, 1.0F);
        part->all_reduce({values.data(), std::ssize(values), DType::f32}, ReduceOp::sum, {stream, {}}).wait();
      }
    });
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

TEST(RunRanks, AnyExceptionIsRethrown) {
  EXPECT_THROW(run_ranks(2,
                         [](Communicator& world) {
                           if (world.rank() == 1) {
                             throw 5;
                           }
                           world.barrier();
                         }),
               int);
}

TEST(RunRanks, ARankThatReturnsEarlyEndsTheWaitsOfTheOthers) {
  const Error collective = failure_of(3, [](Communicator& world) {
    if (world.rank() != 1) {
      all_reduce(world);
    }
  });
  EXPECT_EQ(collective.kind(), ErrorKind::peer_lost);
  EXPECT_THAT(collective.what(), HasSubstr("rank 1 returned while rank"));
  const Error message = failure_of(2, [](Communicator& world) {
    ImmediateStream stream;
    float value = 0;
    if (world.rank() == 1) {
      world.receive({&value, 1, DType::f32}, 0, {stream, {}}).wait();
    }
  });
  EXPECT_THAT(message.what(), HasSubstr("rank 0 returned while rank 1 waits for it in receive"));
}

TEST(RunRanks, ARankMayReturnWhenOthersStillReadWhatItSent) {
  run_ranks(2, [](Communicator& world) {
    ImmediateStream stream;
    std::vector<float> values(100, static_cast<float>(world.rank()));
    const View view{values.data(), 100, DType::f32};
    if (world.rank() == 0) {
      world.send(view, 1, {stream, {}}).wait();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      world.receive(view, 0, {stream, {}}).wait();
      EXPECT_EQ(values[99], 0.0F);
    }
  });
}

TEST(ThreadCommunicator, DifferentCallsAreRefusedWithBothSides) {
  const Error kinds = failure_of(2, [](Communicator& world) {
    if (world.rank() == 0) {
      world.barrier();
    } else {
      all_reduce(world);
    }
  });
  EXPECT_EQ(kinds.kind(), ErrorKind::disagreement);
  EXPECT_THAT(kinds.what(), HasSubstr("collective call 1 of a group of 2: rank 0 made barrier"));
  EXPECT_THAT(kinds.what(), HasSubstr("rank 1 made all_reduce sum of 4 f32"));
  const Error counts = failure_of(3, [](Communicator& world) { all_reduce(world, world.rank() == 2 ? 5 : 4); });
  EXPECT_THAT(counts.what(), HasSubstr("rank 2 made all_reduce sum of 5 f32"));
  const Error message = failure_of(2, [](Communicator& world) {
    ImmediateStream stream;
    std::vector<float> values(4);
    if (world.rank() == 0) {
      world.send({values.data(), 3, DType::f32}, 1, {stream, {}}).wait();
      world.barrier();
    } else {
      world.receive({values.data(), 4, DType::f32}, 0, {stream, {}}).wait();
    }
  });
  EXPECT_THAT(message.what(), HasSubstr("rank 0 sends 3 f32 where rank 1 receives 4 f32"));
}

TEST(ThreadCommunicator, RefusesMoreCallsThanSlots) {
  const Error error = failure_of(2, [](Communicator& world) {
    ImmediateStream stream;
    std::vector<float> value(1);
    if (world.rank() == 0) {
      for (int call = 0; call <= Communicator::k_slots; ++call) {
        (void)world.receive({value.data(), 1, DType::f32}, 1, {stream, {}});
      }
    } else {
      world.barrier();
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_THAT(error.what(), HasSubstr("wait for some of them"));
}

// More messages than are buffered, and larger ones, wait in the memory of their sender.
TEST(ThreadCommunicator, SendersRunAheadOnlyAsFarAsBuffersReach) {
  run_ranks(2, [](Communicator& world) {
    ImmediateStream stream;
    constexpr int k_messages = 120;
    std::vector<float> values(k_messages);
    std::vector<Work> works;
    for (int message = 0; message < k_messages; ++message) {
      float& value = values[static_cast<std::size_t>(message)];
      const View view{&value, 1, DType::f32};
      if (world.rank() == 0) {
        value = static_cast<float>(message);
        works.push_back(world.send(view, 1, {stream, {}}));
      } else {
        world.receive(view, 0, {stream, {}}).wait();
        EXPECT_EQ(value, static_cast<float>(message));
      }
    }
    for (Work& work : works) {
      work.wait();
    }
  });
}

TEST(ThreadCommunicator, ManyRanksManyCalls) {
  run_ranks(16, [](Communicator& world) {
    const auto row = world.split(world.rank() / 4, 0);
    const auto column = world.split(world.rank() % 4, 0);
    ImmediateStream stream;
    for (int round = 0; round < 50; ++round) {
      float value = static_cast<float>(world.rank());
      const View view{&value, 1, DType::f32};
      row->all_reduce(view, ReduceOp::sum, {stream, {}}).wait();
      column->all_reduce(view, ReduceOp::sum, {stream, {}}).wait();
      ASSERT_EQ(value, 120.0F);
    }
  });
}

}  // namespace
}  // namespace tessera
