#include "core/quantity.hpp"

#include <limits>
#include <type_traits>

#include "tests/catch.hpp"

namespace {

using namespace ddl;

template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept comparable = requires(A a, B b) {
  a < b;
};

}  // namespace

TEST_CASE("products and quotients of quantities have the right dimension") {
  static_assert(std::is_same_v<decltype(1_GiB / 900.0_GBps), Seconds>);
  static_assert(std::is_same_v<decltype(1_GiB / 1.0_s), Bandwidth>);
  static_assert(std::is_same_v<decltype(1.0_s / 1_GiB), SecondsPerByte>);
  static_assert(std::is_same_v<decltype(1.0_s / 1_GiB * 2_GiB), Seconds>);
  static_assert(std::is_same_v<decltype(Flops(1.0) / 1.0_TFLOPS), Seconds>);
  static_assert(std::is_same_v<decltype(1_GiB / 1_MiB), double>);
  CHECK(1_GiB / 1_MiB == 1024.0);
  CHECK((1_GB / 1.0_GBps).value() == 1.0);
}

TEST_CASE("quantities of different dimensions neither add nor compare") {
  static_assert(addable<Bytes, Bytes>);
  static_assert(!addable<Bytes, Seconds>);
  static_assert(!addable<Bytes, double>);
  static_assert(comparable<Seconds, Seconds>);
  static_assert(!comparable<Seconds, Bytes>);
  static_assert(!std::is_convertible_v<double, Bytes>);
  SUCCEED();
}

TEST_CASE("arithmetic on quantities equals arithmetic on their numbers") {
  Seconds time = 2.0_s;
  time += 1.0_s;
  time -= 0.5_s;
  time *= 4.0;
  time /= 5.0;
  CHECK(time == 2.0_s);
  CHECK((time + 1.0_s - 0.5_s).value() == 2.5);
  CHECK((-time).value() == -2.0);
  CHECK(2.0 * time == time * 2.0);
  CHECK(time / 2.0 == 1.0_s);
  CHECK(Bytes().value() == 0.0);
}

TEST_CASE("quantities are ordered, and max and min choose by that order") {
  CHECK(1_KiB < 1_MiB);
  CHECK(1_KiB != 1_MiB);
  CHECK(max(1_KiB, 1_MiB) == 1_MiB);
  CHECK(min(1_KiB, 1_MiB) == 1_KiB);
}

TEST_CASE("a quantity is finite unless its number is not") {
  CHECK(is_finite(1_B));
  CHECK_FALSE(is_finite(Bytes(std::numeric_limits<double>::infinity())));
  CHECK_FALSE(is_finite(Bytes(std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("a literal is the double nearest to what is written") {
  CHECK((5.0_us).value() == 5e-6);
  CHECK((3.2_us).value() == 3.2e-6);
  CHECK((0.7_ms).value() == 0.7e-3);
  CHECK((312.5_TFLOPS).value() == 312.5e12);
  CHECK((1_KiB).value() == 1024.0);
  CHECK((3_MB).value() == 3e6);
}
