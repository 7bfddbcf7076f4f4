// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/gemm.hpp"

#include "kernel_fixture.hpp"

namespace tessera::test {
namespace {

using host::GemmCall;
using host::Read;
using host::Result;

struct Extents {
  std::int64_t m, n, k;
};

/// A product with operands inside larger matrices.
template <class T>
class Product {
 public:
  Product(Extents extents, Read a_read, Read b_read, Result result)
      : extents_(extents),
        a_read_(a_read),
        b_read_(b_read),
        result_(result),
        a_(fill(1, rows_of_a() * stride_of_a())),
        b_(fill(2, rows_of_b() * stride_of_b())),
        c_(fill(3, extents.m * c_stride())) {}

  std::vector<T> run(int threads) const {
    std::vector<T> c = c_;
    const GemmCall<T, T> call{.m = extents_.m,
                              .n = extents_.n,
                              .k = extents_.k,
                              .a = {a_.data(), stride_of_a(), a_read_},
                              .b = {b_.data(), stride_of_b(), b_read_},
                              .c = c.data(),
                              .c_stride = c_stride(),
                              .result = result_};
    const std::int64_t bytes = host::gemm_workspace<T, T>(extents_.m, extents_.n, extents_.k, threads);
    std::vector<std::byte> workspace(static_cast<std::size_t>(bytes), std::byte{0xff});
    host::gemm(call, workspace, threads);
    return c;
  }

  /// By definition, in double, with C's gaps as they were.
  Values expected() const {
    Values c(c_.begin(), c_.end());
    for (std::int64_t i = 0; i < extents_.m; ++i)
      for (std::int64_t j = 0; j < extents_.n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < extents_.k; ++p) sum += a(i, p) * b(p, j);
        double& at = c[static_cast<std::size_t>(i * c_stride() + j)];
        at = result_ == Result::add ? at + sum : sum;
      }
    return c;
  }

 private:
  std::int64_t rows_of_a() const { return a_read_ == Read::as_is ? extents_.m : extents_.k; }
  std::int64_t rows_of_b() const { return b_read_ == Read::as_is ? extents_.k : extents_.n; }
  std::int64_t stride_of_a() const { return (a_read_ == Read::as_is ? extents_.k : extents_.m) + 3; }
  std::int64_t stride_of_b() const { return (b_read_ == Read::as_is ? extents_.n : extents_.k) + 1; }
  std::int64_t c_stride() const { return extents_.n + 2; }
  double a(std::int64_t i, std::int64_t p) const { return element(a_, a_read_, stride_of_a(), i, p); }
  double b(std::int64_t p, std::int64_t j) const { return element(b_, b_read_, stride_of_b(), p, j); }

  static double element(const std::vector<T>& matrix, Read read, std::int64_t stride, std::int64_t i, std::int64_t j) {
    return static_cast<double>(matrix[static_cast<std::size_t>(read == Read::as_is ? i * stride + j : j * stride + i)]);
  }
  static std::vector<T> fill(std::uint64_t seed, std::int64_t count) {
    const Values values = random_values(seed, count);
    return std::vector<T>(values.begin(), values.end());
  }

  Extents extents_;
  Read a_read_, b_read_;
  Result result_;
  std::vector<T> a_, b_, c_;
};

template <class T>
class Gemm : public testing::Test {};
using Types = testing::Types<double, float>;
TYPED_TEST_SUITE(Gemm, Types);

TYPED_TEST(Gemm, EveryFormOnEveryKindOfEdge) {
  const double tolerance = tolerance_of(dtype_of<TypeParam>);
  for (const Extents extents : {Extents{1, 1, 1},
                                {12, 32, 256},
                                {13, 33, 257},
                                {5, 100, 0},
                                {0, 3, 4},
                                {3, 0, 4},
                                {250, 17, 40},
                                {30, 520, 600}})
    for (const Read a : {Read::as_is, Read::transposed})
      for (const Read b : {Read::as_is, Read::transposed})
        for (const Result result : {Result::assign, Result::add}) {
          const Product<TypeParam> product(extents, a, b, result);
          const auto c = product.run(2);
          EXPECT_TRUE(close(Values(c.begin(), c.end()), product.expected(), tolerance))
              << extents.m << " x " << extents.n << " x " << extents.k;
        }
}

TYPED_TEST(Gemm, ThreadsDoNotChangeBits) {
  for (const Extents extents : {Extents{64, 64, 5000}, {768, 768, 1024}, {1, 768, 700}, {700, 600, 30}})
    for (const Read b : {Read::as_is, Read::transposed}) {
      const Product<TypeParam> product(extents, Read::transposed, b, Result::assign);
      const auto one = product.run(1);
      for (const int threads : {2, 3, 8}) EXPECT_EQ(product.run(threads), one) << threads << " " << extents.m;
    }
}

TYPED_TEST(Gemm, BitsOfARowDoNotDependOnTheOthers) {
  const std::int64_t n = 100, k = 700, m = 50;
  const auto a_values = random_values(1, m * k), b_values = random_values(2, k * n);
  const std::vector<TypeParam> a(a_values.begin(), a_values.end()), b(b_values.begin(), b_values.end());
  const auto product = [&](std::int64_t first, std::int64_t rows) {
    std::vector<TypeParam> c(static_cast<std::size_t>(rows * n));
    std::vector<std::byte> workspace(
        static_cast<std::size_t>(host::gemm_workspace<TypeParam, TypeParam>(rows, n, k, 1)));
    host::gemm(GemmCall<TypeParam, TypeParam>{.m = rows,
                                              .n = n,
                                              .k = k,
                                              .a = {a.data() + first * k, k},
                                              .b = {b.data(), n},
                                              .c = c.data(),
                                              .c_stride = n},
               workspace, 1);
    return c;
  };
  const auto whole = product(0, m);
  for (const auto& [first, rows] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {7, 5}, {33, 17}})
    EXPECT_EQ(product(first, rows),
              std::vector<TypeParam>(whole.begin() + first * n, whole.begin() + (first + rows) * n));
}

}  // namespace
}  // namespace tessera::test
