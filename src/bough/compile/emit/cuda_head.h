/* What every kernel begins with: the meaning of its macros, and sine, cosine and reciprocal. See cuda.py. */
#define LANES @LANES@
typedef @REAL@ Number;
typedef Number Real;
#define CONSTANT __device__ const
#if @LISTED@
#define MANY (chosen ? (long long)chosen[0] : batch)
#define ROW(k) (chosen ? (long long)chosen[1 + (k)] : (k))
#define LEAVE if ((long long)blockIdx.x * (blockDim.x / LANES) >= MANY) return
#else
#define MANY batch
#define ROW(k) (k)
#define LEAVE
#endif
#define BEGIN(batch) \
    const unsigned lane = threadIdx.x & (LANES - 1); \
    const long long thread = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES, many = MANY; \
    const bool inside = thread < many; \
    const long long row = ROW(inside ? thread : many - 1); \
    Real fault = 0; (void)lane; (void)inside
#define SHARED(kind, name, size) \
    alignas(16) __shared__ kind name[size]; \
    for (int k = threadIdx.x; k < size; k += blockDim.x) name[k] = name##_[k]; \
    __syncthreads()
#if @ROWS@
#define ROWS(p, base, stride) auto p = base + row * (stride)
#define LOAD(p, place) __ldg(p + (place))
#else
#define ROWS(p, base, stride) auto p = base + ((stride) ? row : 0); const long long p##_e = (stride) ? batch : 1
#define LOAD(p, place) __ldg(p + (place) * p##_e)
#endif
/* groups of 32 rows: neighbours read and write side by side, at offsets that are known when the kernel is compiled */
#define GROUPED(base, size) base + (row >> 5) * (32LL * (size)) + (row & 31)
#define BETWEEN(p, base, size) auto p = GROUPED(base, size)
#define LOAD_BETWEEN(p, place) __ldg(p + (place) * 32)
#if @RESULTS@ == 0
#define RESULTS(p, base, size) Number *const p = base + row * (size)
#define PLACE(p, place) p[place]
#elif @RESULTS@ == 1
#define RESULTS(p, base, size) Number *const p = GROUPED(base, size)
#define PLACE(p, place) p[(place) * 32]
#else
#define RESULTS(p, base, size) Number *const p = base + row
#define PLACE(p, place) p[(place) * batch]
#endif
#define STORE(p, place, mask, value) if (inside && ((mask) >> lane & 1)) PLACE(p, place) = value
#define TILES \
    extern __shared__ __align__(16) unsigned char tile_bytes[]; \
    const int tile_rows = blockDim.x / LANES
#define TILE(p, first, pitch) \
    Number *p = reinterpret_cast<Number *>(tile_bytes) + (first) + threadIdx.x / LANES * (pitch)
#define FLUSH(base, first, pitch, size) \
    { \
        const Number *tile = reinterpret_cast<const Number *>(tile_bytes) + (first); \
        const long long begin = (long long)blockIdx.x * tile_rows; \
        const int rows = many - begin < tile_rows ? (int)(many - begin) : tile_rows; \
        for (int k = threadIdx.x; k < rows * (size); k += blockDim.x) \
            base[ROW(begin + k / (size)) * (size) + k % (size)] = tile[k / (size) * (pitch) + k % (size)]; \
    }
#define BLOCK_OF(threads, blocks) __launch_bounds__(threads, blocks)
#define SPILL_MEMORY(tile) \
    extern __shared__ __align__(16) unsigned char spill_bytes[]; \
    volatile Number *const spilled = reinterpret_cast<volatile Number *>(spill_bytes + (tile)) + threadIdx.x
#define SPILL(slot, x) spilled[(slot) * @BLOCK@] = x
#define RELOAD(slot) spilled[(slot) * @BLOCK@]
#ifdef __CUDACC__
#define REPEAT(count) _Pragma("unroll 1") for (int turn = 0; turn < (count); turn++) {
#else
#define REPEAT(count) for (int turn = 0; turn < (count); turn++) {
#endif
#define LANE(size) ((int)(lane & ((size) - 1)))
#define OFFSET(k) offsets[(k) * LANES + lane]
#define TABLE(k) tables[(k) * @STEP@ + lane * @PITCH@]
#define SHUFFLE(x, map) __shfl_sync(0xffffffffu, x, (map) >> (4 * lane) & 15u, LANES)
#define PICK(mask, yes, no) (((mask) >> lane & 1) ? (yes) : (no))
#define CHECK(x) fault += (x) * Real(0) /* a difference may be fused with a product in x, and then is not zero */
#define FINISH(bad) if (bad && inside && !(fault == Real(0))) bad[row] = 1
#define PURE __device__ __forceinline__
#ifdef __CUDACC__
/* a thread reads its row bit by bit until its end: all of it is fetched from memory at the start */
template <int SIZE> PURE void prefetch(const Number *row, unsigned lane)
{
    const char *const first = (const char *)row, *const last = (const char *)(row + SIZE - 1);
    for (int k = lane; k <= SIZE * (int)sizeof(Number) / 128; k += LANES) {
        const char *const line = first + 128 * k;
        asm volatile("prefetch.global.L2 [%0];" ::"l"(line < last ? line : last));
    }
}
#define PREFETCH(p, size) prefetch<size>(p, lane)
#else
#define PREFETCH(p, size)
#endif
template <class T> PURE T total(T x) /* over the threads of a row; all of them get the same bits */
{
    for (int k = 1; k < LANES; k *= 2) x += __shfl_xor_sync(0xffffffffu, x, k);
    return x;
}
#ifdef __CUDACC__
PURE double rough_reciprocal(double x) /* 20 bits of it */
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
#endif
PURE double reciprocal(double x)
{
    const double rough = rough_reciprocal(x), r = fma(fma(-x, rough, 1.0), rough, rough);
    return fma(fma(-x, r, 1.0), r, r);
}
PURE float reciprocal(float x) { return __fdividef(1.0f, x); }

PURE double magnitude(double x) { return fabs(x); }
PURE float magnitude(float x) { return fabsf(x); }
PURE double root(double x) { return sqrt(x); }
PURE float root(float x) { return sqrtf(x); }
PURE double arctangent(double x) { return atan(x); }
PURE float arctangent(float x) { return atanf(x); }
PURE double reached(double x) { return x >= 0.0 ? 1.0 : 0.0; }
PURE float reached(float x) { return x >= 0.0f ? 1.0f : 0.0f; }

PURE void polynomials(double r, double low, double *s, double *c)
{
    const double z = r * r, h = 0.5 * z, w = 1.0 - h, lost = (1.0 - w) - h;
    double p = 1.58969099521155010221e-10, q = -1.13596475577881948265e-11;
    p = fma(p, z, -2.50507602534068634195e-08); q = fma(q, z, 2.08757232129817482790e-09);
    p = fma(p, z, 2.75573137070700676789e-06); q = fma(q, z, -2.75573143513906633035e-07);
    p = fma(p, z, -1.98412698298579493134e-04); q = fma(q, z, 2.48015872894767294178e-05);
    p = fma(p, z, 8.33333333332248946124e-03); q = fma(q, z, -1.38888888888741095749e-03);
    p = fma(p, z, -1.66666666666666324348e-01); q = fma(q, z, 4.16666666666666019037e-02);
    *s = r + fma(z * r, p, low * w);
    *c = w + fma(z * z, q, lost - r * low);
}
PURE void polynomials(float r, float low, float *s, float *c)
{
    const float z = r * r, w = fmaf(-0.5f, z, 1.0f);
    float p = -1.9515295891e-4f, q = 2.443315711809948e-5f;
    p = fmaf(p, z, 8.3321608736e-3f); q = fmaf(q, z, -1.388731625493765e-3f);
    p = fmaf(p, z, -1.6666654611e-1f); q = fmaf(q, z, 4.166664568298827e-2f);
    *s = r + fmaf(z * r, p, low);
    *c = fmaf(z * z, q, w);
}
/* Cody and Waite with fused products, then the polynomials of fdlibm (double) and Cephes (float). Where few digits of
   an angle are left, beyond 2^30 and in floats beyond 2^20, the result is not a number rather than wrong. Floats are
   not reduced by doubles, whose conversions are slow: the sum with 1.5 * 2^23 rounds to an integer, and its last bits
   are the quadrant. */
PURE int reduced(double x, double *head, double *low)
{
    const double n = rint(x * 6.36619772367581382433e-01);
    const double near = fma(n, -1.57079632679489655800, x), tail = n * 6.12323399573676603587e-17;
    *head = near - tail;
    *low = (near - *head) - tail;
    return (int)n;
}
PURE int reduced(float x, float *head, float *low)
{
    const float shifted = fmaf(x, 6.36619772e-01f, 12582912.0f), n = shifted - 12582912.0f;
    const float near = fmaf(n, -1.57079637e+00f, x);
    *head = fmaf(n, 4.37113883e-08f, near);
    *low = fmaf(n, 4.37113883e-08f, near - *head);
    return __float_as_int(shifted);
}
template <class T> PURE void turn(T x, T *s, T *c)
{
    T head, low, sine, cosine;
    const int quadrant = reduced(x, &head, &low);
    polynomials(head, low, &sine, &cosine);
    const T lost = magnitude(x) < T(sizeof(T) == 8 ? 1073741824 : 1048576) ? T(0) : (T)nanf("");
    const T a = (quadrant & 1) ? cosine : sine, b = (quadrant & 1) ? sine : cosine;
    *s = ((quadrant & 2) ? -a : a) + lost;
    *c = (((quadrant + 1) & 2) ? -b : b) + lost;
}
