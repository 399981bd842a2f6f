// Copyright of nobody in particular.

#pragma once

#include <memory>
#include "pool/config.h"

namespace pool {
POOL_NAMESPACE_BEGIN

class Worker;  // only named

// How a task ended.
enum class Outcome : unsigned char { kDone, kFailed = 2, kLost POOL_DEPRECATED("never") };

enum : int { kSmall = 1, kLarge };

namespace internal::detail {
template <typename T>
using Slot = std::unique_ptr<T>;
}  // namespace internal::detail

/// Runs tasks on a fixed number of threads.
///
/// Not copyable.
template <typename Task, typename Clock = std::chrono::steady_clock, typename Allocator = std::allocator<Task>,
          std::size_t kWidth = 8>
class POOL_EXPORT POOL_LOCKABLE Pool final : public Base<Task>, private Noted {
  using Guard = std::lock_guard<std::mutex>;

 public:
  using value_type = Task;
  typedef std::size_t size_type;
  static constexpr int kMaximum = 64;
  static const char* const kName;
  struct Options {
    int threads = 4;
    bool greedy{false};
  };

  Pool() = default;
  explicit Pool(Options options) noexcept : options_(std::move(options)), size_{0} {}
  POOL_CONSTEXPR Pool(int threads) : size_(threads) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() override;

  // Adds a task.
  template <class... Args>
  POOL_NODISCARD bool Add(Args&&... args) POOL_EXCLUDES(mutex_);
  virtual void Stop() POOL_EXCLUDES(mutex_) = 0;
  size_type size() const& noexcept POOL_LIFETIME_BOUND { return size_; }
  auto begin() const -> decltype(size_) { return size_; }
  Task& operator[](size_type index);
  void operator()(int) const;
  explicit operator bool() const { return size_ > 0; }
  bool operator==(const Pool&) const = default;

  friend class Worker;
  friend void swap(Pool&, Pool&);
  friend bool operator<(const Pool& a, const Pool& b) { return a.size_ < b.size_; }

 protected:
  virtual void Wake() {}
  std::function<void(int)> on_idle_;

 private:
  POOL_DISALLOW_COPY(Pool);
  enum State { kIdle, kBusy };
  mutable std::mutex mutex_;
  size_type size_ POOL_GUARDED_BY(mutex_) = 0, capacity_;
  std::unique_ptr<Worker> workers_[kWidth] POOL_GUARDED_BY(mutex_);
  void (*hook_)(Pool*, const char* _Nullable name);
  union {
    int number;
    void* pointer;
  };
  struct {
    int hits;
  } statistics_;
};

template <>
class Pool<void> {
  int unused_;
};

template <typename T>
concept Runnable = requires(T task) { task(); };

template <typename T>
  requires Runnable<T>
T Run(T task) {
  return task;
}

template <typename T>
inline constexpr bool kIsPool = false;

template <typename T>
Pool(T) -> Pool<T>;

extern template class Pool<int>;
extern "C" int pool_version(void);
extern "C" {
typedef struct pool_handle pool_handle_t;
POOL_API pool_handle_t* pool_open(const char* name);
}

POOL_NAMESPACE_END
}  // namespace pool
