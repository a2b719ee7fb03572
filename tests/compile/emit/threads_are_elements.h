/* The macros of CUDA text for a CPU: the threads of one row are the elements of one small array, in lockstep. */
#include <math.h>

#define __global__
#define CONSTANT static const
#define PURE static inline

struct Lanes {
    int v[LANES];
    Lanes operator*(int k) const { Lanes r; for (int l = 0; l < LANES; l++) r.v[l] = v[l] * k; return r; }
};
static inline Lanes operator+(int k, Lanes x) { for (int l = 0; l < LANES; l++) x.v[l] += k; return x; }
static inline Lanes lanes_of(int size) { Lanes r; for (int l = 0; l < LANES; l++) r.v[l] = l & (size - 1); return r; }
static inline Lanes every(int k) { Lanes r; for (int l = 0; l < LANES; l++) r.v[l] = k; return r; }
static inline Lanes every(Lanes k) { return k; }
static inline Lanes entries(const int *p) { Lanes r; for (int l = 0; l < LANES; l++) r.v[l] = p[l]; return r; }

struct Real {
    Number v[LANES];
    Real() {}
    Real(Number x) { for (int l = 0; l < LANES; l++) v[l] = x; }
    Real operator-() const { Real r; for (int l = 0; l < LANES; l++) r.v[l] = -v[l]; return r; }
};
#define BINARY(op) \
    static inline Real operator op(Real a, Real b) { for (int l = 0; l < LANES; l++) a.v[l] = a.v[l] op b.v[l]; return a; }
BINARY(+) BINARY(-) BINARY(*)
static inline void operator+=(Real &a, Real b) { a = a + b; }
static inline Real load(const Number *p, Lanes k) { Real r; for (int l = 0; l < LANES; l++) r.v[l] = p[k.v[l]]; return r; }
static inline void store(Number *p, Lanes k, unsigned mask, Real x)
{
    for (int l = 0; l < LANES; l++) if (mask >> l & 1) p[k.v[l]] = x.v[l];
}
static inline Real shuffle(Real x, unsigned map)
{
    Real r;
    for (int l = 0; l < LANES; l++) r.v[l] = x.v[map >> (4 * l) & 15u];
    return r;
}
static inline Real pick(unsigned mask, Real yes, Real no)
{
    for (int l = 0; l < LANES; l++) if (mask >> l & 1) no.v[l] = yes.v[l];
    return no;
}
static inline bool faulty(Real x) { for (int l = 0; l < LANES; l++) if (x.v[l] != 0) return true; return false; }

static long long current_row;
#define BEGIN(batch) const long long row = current_row; Real fault = Real(0)
#define SHARED(kind, name, size) const kind *name = name##_
#define ROWS(p, base, stride) auto p = base + row * (stride)
#define LOAD(p, place) load(p, every(place))
#define STORE(p, place, mask, value) store(p, every(place), mask, value)
#define BLOCK_OF(threads, blocks)
#define SHELVES Real shelf[1024]
#define SHELVE(slot, x) shelf[slot] = x
#define FETCH(slot) shelf[slot]
#define LANE(size) lanes_of(size)
#define OFFSET(k) entries(offsets + (k) * LANES)
#define TABLE(k) load(tables, (k) * LANES + lanes_of(LANES))
#define SHUFFLE(x, map) shuffle(x, map)
#define PICK(mask, yes, no) pick(mask, yes, no)
#define CHECK(x) fault += Real(x) - Real(x)
#define FINISH(bad) if (bad && faulty(fault)) bad[row] = 1

static inline Number reciprocal(Number x) { return 1 / x; }
static Number root(Number);
static Number arctangent(Number);
static Number reached(Number);
template <class T> static void turn(T, T *, T *);
static inline Real reciprocal(Real x) { for (int l = 0; l < LANES; l++) x.v[l] = reciprocal(x.v[l]); return x; }
static inline Real root(Real x) { for (int l = 0; l < LANES; l++) x.v[l] = root(x.v[l]); return x; }
static inline Real reached(Real x) { for (int l = 0; l < LANES; l++) x.v[l] = reached(x.v[l]); return x; }
static inline Real arctangent(Real x) { for (int l = 0; l < LANES; l++) x.v[l] = arctangent(x.v[l]); return x; }
static inline void turn(Real x, Real *s, Real *c) { for (int l = 0; l < LANES; l++) turn<Number>(x.v[l], &s->v[l], &c->v[l]); }
