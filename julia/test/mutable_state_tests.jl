# Captured variables, mutable structs and dictionaries under our context: right, or refused by name; never counted twice or skipped.

using MutationBridge: MutationBridge, MutationError
using ForwardDiff

mutable struct Cell{T}
    v::T
end
struct Fixed{T}
    cell::Cell{T}
    w::T
end
mutable struct Held{T}
    cell::Cell{T}
    w::T
end

kept = 0.0
total = 0.0
const WEIGHTS = [1.0, -2.0, 0.5, 3.0]
double_kept!(v) = global kept = 2v * v
squared(v) = v^2
tenfold(v) = 10v
called = squared
call_tenfold!(v) = (global called = tenfold; v)

const RIGHT = (
    "a global" => x -> (global kept = x[1]^2; kept * x[2]),
    "a global that is kept and read after" => x -> (global kept = x[1]; a = identity(kept); global kept = a * x[2]; a * kept),
    "a global that is kept and used after" => x -> (global kept = x[1]; a = kept; global kept = a * x[2]; a * kept),
    "a global that is kept in a loop" => x -> (global kept = x[1]; a = kept; for v in x; global kept = v * a; a = kept; end; a * kept),
    "a global that is kept in a branch" => x -> (global kept = x[1]; a = x[2] < 0 ? kept : x[2]; global kept = a * x[3]; a * kept),
    "a global that a called function assigns" => x -> (global kept = x[1]; a = kept; double_kept!(x[3]); a * kept),
    "a global in a loop that a called function assigns" =>
        x -> (global kept = x[1]; s = 0.0; for v in x; a = kept; double_kept!(v); s += a * kept * v; end; s),
    "a global that a closure keeps" => x -> (global kept = x[1]; a = kept; g = y -> a * y; double_kept!(x[2]); g(kept)),
    "a global beside a call that assigns it" => x -> (global kept = x[1]; kept * double_kept!(x[2]) * kept),
    "a global beside its assignment" => x -> (global kept = x[1]; kept * (global kept = x[2]) * kept),
    "a function that its argument assigns" => x -> (global called = squared; called(call_tenfold!(x[1])) * called(x[2])),
    "a function that is kept" => x -> (global called = squared; g = called; call_tenfold!(x[1]); g(x[2]) * called(x[3])),
    "a global that is returned after it was assigned" => x -> (global kept = x[1]; a = kept; double_kept!(x[2]); a),
    "a constant under another name" => x -> (w = WEIGHTS; double_kept!(x[1]); sum(w .* x) * kept),
    "a global that is kept and used before" => x -> (global kept = x[1]; a = kept; b = a * x[3]; global kept = b * x[2]; b * kept),
    "a global in a map whose result is unused" => x -> (global total = 0.0; map(v -> (global total += v^2; 1), x); total),
    "a global set by its name" => x -> (setglobal!(@__MODULE__, :kept, x[1]^2); kept * x[2]),
    "a global set by its name, and not read" => x -> (setglobal!(@__MODULE__, :kept, x[1]^2); x[2]),
    "a captured variable in a map whose result is unused" => x -> (s = 0.0; map(v -> (s += v; s), x); s^2),
    "a captured variable in a comprehension" => x -> (s = 0.0; [(s += v^2; 1) for v in x]; s * x[1]),
    "a captured variable in foreach" => x -> (s = 0.0; foreach(v -> (s += v^2), x); s),
    "a counter in a predicate" => x -> (n = 0; count(v -> (n += 1; v > 0), x); n * x[1]),
    "a dictionary in a map whose result is unused" => x -> (d = Dict(:a => zero(x[1])); map(v -> (d[:a] += v^2; 1), x); d[:a]),
    "a dictionary by identity" => x -> (d = IdDict{Any,Any}(); d[1] = x[1]^2; d[1] * x[2]),
    "a Ref read before and after" => x -> (r = Ref(x[1]); a = r[]; r[] = a * 2; a * r[]),
    "a struct read before and after" => x -> (c = Cell(x[1]); y = c.v; c.v = y * 2 * x[2]; y * c.v),
    "two names of one struct" => x -> (c = Cell(x[1]); d = c; d.v *= x[2]; c.v += x[3]; c.v * d.v),
    "structs in a tuple" => x -> (cs = (Cell(x[1]), Cell(x[2])); cs[2].v += cs[1].v^2; cs[2].v * cs[1].v),
    "a struct in a mutable one" => x -> (s = Held(Cell(x[1]), x[2]); s.cell.v = s.cell.v^2 * s.w; s.w = s.cell.v; s.cell.v * s.w),
)

const REFUSED = (
    "structs in a vector, not written" => x -> sum(c.v^2 for c in [Cell(v) for v in x]),
    "structs in a vector" => x -> (cs = [Cell(x[1]), Cell(x[2])]; cs[2].v = cs[1].v^2; cs[2].v * cs[1].v),
    "structs in a dictionary" => x -> (d = Dict(1 => Cell(x[1]), 2 => Cell(x[2])); d[2].v += d[1].v^2; d[2].v * d[1].v),
    "a struct in an immutable one" => x -> (s = Fixed(Cell(x[1]), x[2]); s.cell.v = s.cell.v^2 * s.w; s.cell.v * s.w),
)

const POINT = [0.7, -0.4, 1.3, 0.2]

@testset "$name" for (name, f) in RIGHT
    value, pull = MutationBridge.pullback(f, POINT)
    @test value == f(POINT)
    for _ in 1:2
        @test only(pull(1.0)) ≈ ForwardDiff.gradient(f, POINT)
    end
end

@testset "$name" for (name, f) in REFUSED
    @test_throws "is held in an array, a dictionary or another struct" MutationBridge.gradient(f, POINT)
end
