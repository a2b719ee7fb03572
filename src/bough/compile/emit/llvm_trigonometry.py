"""Sines, cosines and arc tangents of many numbers at once, as LLVM IR.

Sine and cosine: range reduction by Cody and Waite (pi/2 in three parts, the first two of 33 bits, so that the products
with the quadrant number are exact), then the minimax polynomials of fdlibm (double) or Cephes (float)
on [-pi/4, pi/4]. Below 1 ulp up to LIMIT; beyond it, and for NaN and infinity, the C library.

Arc tangent: with 0, pi/4 or pi/2 subtracted, the tangent t of the angle is at most 7/16, where the polynomial of fdlibm
holds. Below 2 ulp, for any sign, zero, infinity and NaN. Floats are computed in double.
"""

from __future__ import annotations

from bough.compile.ir import Instructions, Kind, horner, multiply_add

LIMIT = 1.0e6  # the quadrant number must stay below 2^20 for exact products
TWO_OVER_PI = 6.36619772367581382433e-01
PI_2_PARTS = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
ROUNDING = 1.5 * 2.0**52  # adding it leaves the nearest integer in the low bits

SIN_DOUBLE = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
              2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)  # fmt: skip
COS_DOUBLE = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
              -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)  # fmt: skip
SIN_FLOAT = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
COS_FLOAT = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)


def sincos_function(kind: Kind) -> str:
    """`@sines_and_cosines(angles, sines, cosines, n)`: n vectors of `kind`; cosines may take the place of angles."""
    T, b = kind.type, Instructions()
    b.label("entry")
    b.do("br label %next")
    b.label("next")
    b.do("%i = phi i64 [ 0, %entry ], [ %after, %done ]")
    b.do(f"%angle = getelementptr {T}, ptr %angles, i64 %i")
    b.do(f"%sine = getelementptr {T}, ptr %sines, i64 %i")
    b.do(f"%cosine = getelementptr {T}, ptr %cosines, i64 %i")
    b.do(f"%x = load {T}, ptr %angle")
    size = b(f"call {T} @llvm.fabs.{kind.suffix}({T} %x)")
    moderate = b(f"fcmp ole {T} {size}, {kind.const(LIMIT)}")  # false for NaN
    all_moderate = b(f"call i1 @llvm.vector.reduce.and.v{kind.lanes}i1(<{kind.lanes} x i1> {moderate})")
    b.do(f"br i1 {all_moderate}, label %fast, label %exact")
    b.label("fast")
    _polynomials(b, kind)
    b.do("br label %done")
    b.label("exact")
    _library_calls(b, kind)
    b.label("done")
    b.do("%after = add i64 %i, 1")
    b.do("%more = icmp slt i64 %after, %n")
    b.do("br i1 %more, label %next, label %end")
    b.label("end")
    b.do("ret void")
    bits = 8 * kind.bytes
    parameters = "ptr %angles, ptr noalias %sines, ptr %cosines, i64 %n"
    return f"""
declare {T} @llvm.fabs.{kind.suffix}({T})
declare i1 @llvm.vector.reduce.and.v{kind.lanes}i1(<{kind.lanes} x i1>)
declare {kind.scalar} @llvm.sin.f{bits}({kind.scalar})
declare {kind.scalar} @llvm.cos.f{bits}({kind.scalar})
define internal void @sines_and_cosines({parameters}) noinline nounwind {{
{b.text()}
}}
"""


def _polynomials(b: Instructions, kind: Kind) -> None:
    """From %x to the sine and the cosine, stored at %sine and %cosine."""
    T, N = kind.type, kind.integer
    s, c, quadrant = _on_the_first_octant(b, kind)
    odd = b(f"icmp ne {N} {b(f'and {N} {quadrant}, {kind.int_const(1)}')}, zeroinitializer")
    mask = f"<{kind.lanes} x i1>"
    sine = b(f"select {mask} {odd}, {T} {c}, {T} {s}")
    cosine = b(f"select {mask} {odd}, {T} {s}, {T} {c}")
    following = b(f"add {N} {quadrant}, {kind.int_const(1)}")
    b.do(f"store {T} {_with_sign(b, kind, sine, quadrant)}, ptr %sine")
    b.do(f"store {T} {_with_sign(b, kind, cosine, following)}, ptr %cosine")


def _on_the_first_octant(b: Instructions, kind: Kind) -> tuple[str, str, str]:
    """Sine and cosine of the reduced angle r + low, and the quadrant.

    sin = r + (r z p(z) + low (1 - z/2)), cos = w + (z^2 q(z) + lost - r low) with z = r^2, w = 1 - z/2 rounded and
    `lost` its rounding error.
    """
    T, one = kind.type, kind.const(1.0)
    p, q = (SIN_DOUBLE, COS_DOUBLE) if kind.scalar == "double" else (SIN_FLOAT, COS_FLOAT)
    r, low, quadrant = _reduced(b, kind) if kind.scalar == "double" else _reduced_in_double(b, kind)
    z = b(f"fmul {T} {r}, {r}")
    half = b(f"fmul {T} {z}, {kind.const(0.5)}")
    w = b(f"fsub {T} {one}, {half}")
    lost = b(f"fsub {T} {b(f'fsub {T} {one}, {w}')}, {half}")
    cube, square = b(f"fmul {T} {z}, {r}"), b(f"fmul {T} {z}, {z}")
    s = multiply_add(b, kind, cube, horner(b, kind, z, p), b(f"fmul {T} {low}, {w}"))
    c = multiply_add(b, kind, square, horner(b, kind, z, q), b(f"fsub {T} {lost}, {b(f'fmul {T} {r}, {low}')}"))
    return b(f"fadd {T} {r}, {s}"), b(f"fadd {T} {w}, {c}"), quadrant


def _reduced(b: Instructions, kind: Kind) -> tuple[str, str, str]:
    """r, low and the quadrant (an integer, low two bits) with x = r + low + quadrant pi/2 and |r| <= pi/4.

    The first two products are exact and so is the first difference; `low` keeps what the others round away.
    """
    D = kind.type
    shifted = multiply_add(b, kind, "%x", kind.const(TWO_OVER_PI), kind.const(ROUNDING))
    n = b(f"fsub {D} {shifted}, {kind.const(ROUNDING)}")
    first, second, third = (b(f"fmul {D} {n}, {kind.const(part)}") for part in PI_2_PARTS)
    begun = b(f"fsub {D} %x, {first}")
    nearly = b(f"fsub {D} {begun}, {second}")
    lost = b(f"fsub {D} {b(f'fsub {D} {begun}, {nearly}')}, {second}")
    tail = b(f"fsub {D} {third}, {lost}")
    r = b(f"fsub {D} {nearly}, {tail}")
    low = b(f"fsub {D} {b(f'fsub {D} {nearly}, {r}')}, {tail}")
    return r, low, b(f"bitcast {D} {shifted} to {kind.integer}")


def _reduced_in_double(b: Instructions, kind: Kind) -> tuple[str, str, str]:
    """The same for floats, by way of doubles."""
    wide = Kind("double", kind.lanes)
    D, T = wide.type, kind.type
    x = b(f"fpext {T} %x to {D}")
    shifted = multiply_add(b, wide, x, wide.const(TWO_OVER_PI), wide.const(ROUNDING))
    n = b(f"fsub {D} {shifted}, {wide.const(ROUNDING)}")
    exact = x
    for part in PI_2_PARTS[:2]:
        exact = b(f"fsub {D} {exact}, {b(f'fmul {D} {n}, {wide.const(part)}')}")
    r = b(f"fptrunc {D} {exact} to {T}")
    rounded = b(f"fpext {T} {r} to {D}")
    low = b(f"fptrunc {D} {b(f'fsub {D} {exact}, {rounded}')} to {T}")
    quadrant = b(f"bitcast {D} {shifted} to {wide.integer}")
    return r, low, b(f"trunc {wide.integer} {quadrant} to {kind.integer}")


def _with_sign(b: Instructions, kind: Kind, x: str, quadrant: str) -> str:
    """x, negated where bit 1 of the quadrant is set."""
    T, N = kind.type, kind.integer
    sign = b(f"shl {N} {b(f'and {N} {quadrant}, {kind.int_const(2)}')}, {kind.int_const(8 * kind.bytes - 2)}")
    bits = b(f"bitcast {T} {x} to {N}")
    return b(f"bitcast {N} {b(f'xor {N} {bits}, {sign}')} to {T}")


def _library_calls(b: Instructions, kind: Kind) -> None:
    """The same from the C library, lane by lane, through memory; ends in a branch to %done."""
    S, bits = kind.scalar, 8 * kind.bytes
    b.do("br label %lane")
    b.label("lane")
    b.do("%l = phi i64 [ 0, %exact ], [ %l.after, %lane ]")
    x = b(f"load {S}, ptr {b(f'getelementptr {S}, ptr %angle, i64 %l')}")
    for function, target in (("sin", "%sine"), ("cos", "%cosine")):
        value = b(f"call {S} @llvm.{function}.f{bits}({S} {x})")
        b.do(f"store {S} {value}, ptr {b(f'getelementptr {S}, ptr {target}, i64 %l')}")
    b.do("%l.after = add i64 %l, 1")
    b.do(f"%l.more = icmp slt i64 %l.after, {kind.lanes}")
    b.do("br i1 %l.more, label %lane, label %done")


# atan t = t - t^3 p(t^2)
ARC = (3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01,
       -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02,
       6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02,
       -3.65315727442169155270e-02, 1.62858201153657823623e-02)  # fmt: skip
PI_2 = (1.57079632679489655800, 6.12323399573676603587e-17)  # and its rounding error
NEAR, FAR = 0.4375, 2.5  # between them pi/4 is subtracted, beyond them pi/2


def atan_function(kind: Kind) -> str:
    """`@atan(x)`: one value of `kind`."""
    wide = Kind("double", kind.lanes)
    T, D, b = kind.type, wide.type, Instructions()
    x = "%x" if T == D else b(f"fpext {T} %x to {D}")
    angle = b(f"call {D} @llvm.copysign.{wide.suffix}({D} {_of_size(b, wide, x)}, {D} {x})")
    b.do(f"ret {T} {angle if T == D else b(f'fptrunc {D} {angle} to {T}')}")
    return f"""
declare {D} @llvm.copysign.{wide.suffix}({D}, {D})
define internal {T} @atan({T} %x) noinline nounwind {{
{b.text()}
}}
"""


def _of_size(b: Instructions, kind: Kind, x: str) -> str:
    """atan |x| = angle + atan t, with t = (|x| - tan(angle)) / (1 + |x| tan(angle))."""
    T, zero, one = kind.type, kind.const(0.0), kind.const(1.0)
    size = b(f"call {T} @llvm.copysign.{kind.suffix}({T} {x}, {T} {one})")
    off_near, off_far = (b(f"fcmp ogt {T} {size}, {kind.const(limit)}") for limit in (NEAR, FAR))

    def choose(near: str, middle: str, far: str) -> str:
        mask = "i1" if kind.lanes == 1 else f"<{kind.lanes} x i1>"
        nearer = b(f"select {mask} {off_near}, {T} {middle}, {T} {near}")
        return b(f"select {mask} {off_far}, {T} {far}, {T} {nearer}")

    above = choose(size, b(f"fsub {T} {size}, {one}"), kind.const(-1.0))
    below = choose(one, b(f"fadd {T} {size}, {one}"), size)
    angle, rest = (choose(zero, kind.const(part / 2), kind.const(part)) for part in PI_2)
    t = b(f"fdiv {T} {above}, {below}")
    z = b(f"fmul {T} {t}, {t}")
    bend = b(f"fmul {T} {z}, {horner(b, kind, z, ARC)}")
    small = b(f"fsub {T} {rest}, {b(f'fmul {T} {t}, {bend}')}")
    return b(f"fadd {T} {angle}, {b(f'fadd {T} {t}, {small}')}")
