// Simulates waves on a grid.
#include <cuda_runtime.h>
#include <cstdio>
#include "grid.cuh"

#define CHECK(call) check((call), __FILE__, __LINE__)

namespace waves {

constexpr int kBlock = 16;

__constant__ float damping = 0.999f;
__device__ unsigned int steps_done = 0;

/// What the grid is made of.
struct Cell {
  float height;
  float speed;

  __host__ __device__ float energy() const { return height * height + speed * speed; }
};

enum class Border { Open, Closed };

template <typename T>
__device__ T clamp(T value, T low, T high) {
  return value < low ? low : value > high ? high : value;
}

__device__ __forceinline__ float laplacian(const Cell* cells, int x, int y, int width) {
  const int at = y * width + x;
  return cells[at - 1].height + cells[at + 1].height - 4.0f * cells[at].height;
}

// One step of all cells.
__global__ void step(Cell* cells, int width, int height, float dt) {
  __shared__ float tile[kBlock][kBlock];
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x <= 0 || y <= 0 || x >= width - 1 || y >= height - 1) return;
  tile[threadIdx.y][threadIdx.x] = laplacian(cells, x, y, width);
  __syncthreads();
  Cell& cell = cells[y * width + x];
  cell.speed = damping * (cell.speed + dt * tile[threadIdx.y][threadIdx.x]);
  cell.height = clamp(cell.height + dt * cell.speed, -1.0f, 1.0f);
  if (x == 1 && y == 1) atomicAdd(&steps_done, 1u);
}

__global__ void __launch_bounds__(256) clear(Cell* cells, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) cells[i] = Cell{0.0f, 0.0f};
}

void check(cudaError_t result, const char* file, int line) {
  if (result != cudaSuccess) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(result));
  }
}

class Pool {
 public:
  Pool(int width, int height);
  ~Pool();
  void run(int steps, float dt);
  Cell* data() { return cells_; }

 private:
  int width_;
  int height_;
  Cell* cells_ = nullptr;
};

Pool::Pool(int width, int height) : width_(width), height_(height) {
  CHECK(cudaMalloc(&cells_, sizeof(Cell) * width * height));
  clear<<<(width * height + 255) / 256, 256>>>(cells_, width * height);
}

Pool::~Pool() { cudaFree(cells_); }

void Pool::run(int steps, float dt) {
  dim3 block(kBlock, kBlock);
  dim3 grid(width_ / kBlock, height_ / kBlock);
  for (int i = 0; i < steps; ++i) {
    step<<<grid, block>>>(cells_, width_, height_, dt);
  }
  CHECK(cudaDeviceSynchronize());
}

}  // namespace waves

extern "C" __global__ void probe(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];
}

int main() {
  waves::Pool pool(512, 512);
  pool.run(100, 0.01f);
  return 0;
}
