/* CUDA for the machine's C++ compiler: threads of a block are fibers that run in turn from one barrier to the next. */
/* What it takes of the C library; including its headers would take longer than most kernels. */
typedef decltype(sizeof 0) Size;
extern "C" {
double atan(double) noexcept, fabs(double) noexcept, fma(double, double, double) noexcept, rint(double) noexcept;
double sqrt(double) noexcept;
float nanf(const char *) noexcept, atanf(float) noexcept, fabsf(float) noexcept, fmaf(float, float, float) noexcept, sqrtf(float) noexcept;
void *memcpy(void *, const void *, Size) noexcept, *memset(void *, int, Size) noexcept;
void *mmap(void *, Size, int, int, int, long) noexcept;
}

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(threads, blocks)

struct Index { unsigned x; };
static Index threadIdx, blockIdx, blockDim;
enum { MOST_THREADS = 1024, STACK = 4 << 20, MOST_SHARED = 256 << 10 };
alignas(16) static unsigned char dynamic_shared[MOST_SHARED];

/* Fibers: each has a stack; `leave` gives control to the next. */
static void *fiber[MOST_THREADS], *scheduler;
static unsigned char *stacks;
static bool finished[MOST_THREADS];
static unsigned phase[MOST_THREADS]; /* barriers that a thread has passed */
static unsigned long long exchanged[2][MOST_THREADS];

#if defined(__x86_64__)
extern "C" void fiber_switch(void **from, void *to);
asm(".text\n.type fiber_switch, @function\nfiber_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
#elif defined(__aarch64__)
extern "C" void fiber_switch(void **from, void *to);
asm(".text\n.type fiber_switch, %function\nfiber_switch:\n"
    "sub sp, sp, #160\nstp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
    "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\nstp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\nmov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
    "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\nldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
    "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\nadd sp, sp, #160\nret\n");
#endif

static void leave() { fiber_switch(&fiber[threadIdx.x], scheduler); }

static inline void __syncthreads()
{
    phase[threadIdx.x]++;
    leave();
}

template <class T> static inline T of_thread(T x, unsigned source)
{
    const unsigned which = phase[threadIdx.x]++ & 1;
    memcpy(&exchanged[which][threadIdx.x], &x, sizeof x);
    leave();
    memcpy(&x, &exchanged[which][source], sizeof x);
    return x;
}
template <class T> static inline T __shfl_sync(unsigned, T x, unsigned source, int width)
{
    return of_thread(x, (threadIdx.x & ~(unsigned)(width - 1)) | (source & (unsigned)(width - 1)));
}
template <class T> static inline T __shfl_xor_sync(unsigned, T x, int mask) { return of_thread(x, threadIdx.x ^ mask); }

static inline int atomicAdd(int *p, int x) { const int old = *p; *p += x; return old; }
template <class T> static inline T __ldg(const T *p) { return *p; }
static inline int __float_as_int(float x) { int bits; memcpy(&bits, &x, sizeof x); return bits; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline double rough_reciprocal(double x) { return (double)(float)(1.0 / x); }

static void run_thread();

static void begin_thread()
{
    run_thread();
    finished[threadIdx.x] = true;
    leave();
}

/* All blocks, one after the other; 1 if threads of a block did not meet at the same barriers, 2 if a block wrote beyond
   its shared memory. */
static int launch(unsigned grid, unsigned block, unsigned shared)
{
    /* private, anonymous and not reserved: every kernel has stacks of its own, and a process of many may still fork */
    if (!stacks) stacks = (unsigned char *)mmap(0, (Size)STACK * MOST_THREADS, 3, 0x4022, -1, 0);
    blockDim.x = block;
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {
        memset(dynamic_shared, 0xff, MOST_SHARED); /* not a number */
        for (unsigned t = 0; t < block; t++) {
            void **top = (void **)(stacks + (Size)STACK * (t + 1)) - 32;
            memset(top, 0, 32 * sizeof *top);
#if defined(__x86_64__)
            top[7] = 0; /* what begin_thread would return to; the stack is aligned as after a call */
            top[6] = (void *)begin_thread;
            fiber[t] = top;
#else
            top[11] = (void *)begin_thread;
            fiber[t] = top;
#endif
            finished[t] = false;
            phase[t] = 0;
        }
        for (bool running = true; running;) {
            running = false;
            for (unsigned t = 0; t < block; t++) {
                if (finished[t]) continue;
                threadIdx.x = t;
                fiber_switch(&scheduler, fiber[t]);
                running |= !finished[t];
                if (phase[t] != phase[0] && t > 0) return 1;
            }
        }
        for (unsigned k = shared; k < MOST_SHARED; k++) if (dynamic_shared[k] != 0xff) return 2;
    }
    return 0;
}
