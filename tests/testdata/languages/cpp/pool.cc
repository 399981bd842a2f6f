#include "pool.h"

#include <utility>

#ifdef _WIN32
#define POOL_SLEEP(ms) Sleep(ms)
#else
#define POOL_SLEEP(ms) usleep((ms) * 1000)
#endif

namespace fs = std::filesystem;
using namespace std::literals;
using std::string;

namespace {
constexpr int kRetries = 3;
const std::string kPrefix = "pool";
int counter = 0;
auto increment = [](int by) { return counter + by; };

// Seen in this file only.
struct Hidden {
  int value;
  int get() const { return value; }
};

int Helper(int x) { return x; }
}  // namespace

static int file_local;
int a = 1, *b = nullptr, c[2];

namespace pool {

const char* const Pool<int>::kName = "int";

template <typename T>
Pool<T>::~Pool() {
  Stop();
}

template <typename T>
template <typename U>
bool Pool<T>::Accepts(const U& other) const {
  using Other = typename U::value_type;
  struct Visitor {
    int seen = 0;
    void Visit(const Other&) { ++seen; }
  };
  return true;
}

Worker::Worker(int id)
    : id_(id),
      name_("worker") {
  start();
}

Worker::Worker(const Worker&) = default;
Worker::~Worker() = default;
Worker::operator std::string() const { return name_; }
std::pair<int, int>
Worker::Limits() const noexcept(true) {
  return {0, 1};
}

std::ostream& operator<<(std::ostream& out, const Worker& worker) { return out; }
void* operator new(std::size_t size);
long operator""_ms(unsigned long long n) { return n; }
template <>
int Convert<int>(double d) {
  return static_cast<int>(d);
}

class Worker::Impl : public Noted {
 public:
  int depth = 0;

 private:
  class Frame {
    int line_;
  };
};

std::vector<int> Sorted(std::vector<int> in) POOL_NOINLINE {
#if POOL_FAST
  if (in.size() < 16) {
#else
  if (in.empty()) {
#endif
    return in;
  }
  return in;
}

POOL_REGISTER(int, worker_count, 4);
POOL_FLAG("name") int flagged() { return 1; }

TEST(PoolTest, RunsEverything) {
  struct Counting : Worker {
    int n;
  };
  EXPECT_EQ(1, 1);
}

TEST_F(PoolFixture, StopsOnce) {}

}  // namespace pool
