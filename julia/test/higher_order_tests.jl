# Writes into Buffers inside map, broadcast, folds, predicates and other calls that take a function.

module HigherOrderTests

using MutationBridge, Test
using LinearAlgebra: dot
using Statistics: mean
using Zygote: pmap
import ChainRulesCore, Zygote

const x0 = [1.0, 2.0, 3.0]

square!(b, i, v) = (b[i] = v^2; nothing)
square_true!(b, i, v) = (b[i] = v^2; true)
square_zero!(b, i, v) = (b[i] = v^2; 0.0)
square_text!(b, i, v) = (b[i] = v^2; "done")
through_keywords!(; b, i, v) = one_deeper!(b; i, v)
one_deeper!(b; kw...) = (square!(b, kw[:i], kw[:v]); nothing)

# A scratch Buffer of three zeros, filled by `fill!_(b, x)`, then summed: the gradient is that of sum(abs2, x).
filled(fill_b!) = x -> (b = Buffer(zeros(3)); fill_b!(b, x); sum(copy(b)))
# The same, when the call that fills also gives a value that is used.
filled_used(fill_b!) = x -> (b = Buffer(zeros(3)); s = fill_b!(b, x); s + sum(copy(b)))

# name, what fills the Buffer. The value of the filling call is not used.
const unused = [
    "map, nothing" => (b, x) -> map(i -> square!(b, i, x[i]), 1:3),
    "map, Int" => (b, x) -> map(i -> (b[i] = x[i]^2; i), 1:3),
    "map, Bool" => (b, x) -> map(i -> square_true!(b, i, x[i]), 1:3),
    "map, String" => (b, x) -> map(i -> square_text!(b, i, x[i]), 1:3),
    "map, Float64" => (b, x) -> map(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "map, x as argument" => (b, x) -> map((i, v) -> square!(b, i, v), 1:3, x),
    "map, mixed results" => (b, x) -> map(i -> (b[i] = x[i]^2; i == 2 ? nothing : x[i]), 1:3),
    "map over a tuple" => (b, x) -> map(i -> square!(b, i, x[i]), (1, 2, 3)),
    "map over two tuples" => (b, x) -> map((i, v) -> square!(b, i, v), (1, 2, 3), (x[1], x[2], x[3])),
    "map over a named tuple" => (b, x) -> map(i -> square!(b, i, x[i]), (p=1, q=2, r=3)),
    "map over a matrix" => (b, x) -> map(i -> (i <= 3 && square!(b, i, x[i]); nothing), [1 2; 3 4]),
    "map over zip" => (b, x) -> map(((i, v),) -> square!(b, i, v), zip(1:3, x)),
    "map, do block" => (b, x) -> map(1:3) do i
        square!(b, i, x[i])
    end,
    "map inside map" => (b, x) -> map(i -> (map(v -> (b[i] = b[i] + v * x[i] / 1; nothing), x[i:i]); 0), 1:3),
    "map inside a broadcast" => (b, x) -> (i -> (map(k -> square!(b, k, x[k]), i:i); 0.0)).(1:3),
    "broadcast inside map" => (b, x) -> map(i -> square_zero!.(Ref(b), i:i, x[i:i]), 1:3),
    "comprehension, nothing" => (b, x) -> [square!(b, i, x[i]) for i in 1:3],
    "comprehension, Int" => (b, x) -> [(b[i] = x[i]^2; i) for i in 1:3],
    "comprehension over x" => (b, x) -> [square!(b, i, v) for (i, v) in enumerate(x)],
    "comprehension over zip" => (b, x) -> [square!(b, i, v) for (i, v) in zip(1:3, x)],
    "comprehension over two ranges" => (b, x) -> [(b[i] = b[i] + x[i]^2 / 2; nothing) for i in 1:3, k in 1:2],
    "comprehension, flattened" => (b, x) -> [(b[i] = b[i] + x[i]^2 / 2; nothing) for i in 1:3 for k in 1:2],
    "comprehension with a condition" => (b, x) -> [square!(b, i, x[i]) for i in 1:4 if i <= 3],
    "comprehension, condition writes" => (b, x) -> [i for i in 1:3 if square_true!(b, i, x[i])],
    "comprehension over a lazy map" => (b, x) -> [v for v in Iterators.map(i -> (b[i] = x[i]^2; 1.0), 1:3)],
    "comprehension over a tuple" => (b, x) -> [square!(b, i, x[i]) for i in (1, 2, 3)],
    "broadcast of a closure" => (b, x) -> (i -> (b[i] = x[i]^2; 0.0)).(1:3),
    "broadcast of a closure, Bool" => (b, x) -> (i -> square_true!(b, i, x[i])).(1:3),
    "broadcast of a closure, nothing" => (b, x) -> (i -> square!(b, i, x[i])).(1:3),
    "broadcast with Ref" => (b, x) -> square_zero!.(Ref(b), 1:3, x),
    "broadcast with Ref, Bool" => (b, x) -> square_true!.(Ref(b), 1:3, x),
    "broadcast with Ref, nothing" => (b, x) -> square!.(Ref(b), 1:3, x),
    "broadcast with Ref, String" => (b, x) -> square_text!.(Ref(b), 1:3, x),
    "broadcast over a tuple" => (b, x) -> square_zero!.(Ref(b), (1, 2, 3), (x[1], x[2], x[3])),
    "broadcast without dimensions" => (b, x) -> foreach(i -> square_zero!.(Ref(b), i, x[i]), 1:3),
    "broadcast, as a function" => (b, x) -> broadcast((i, v) -> square_true!(b, i, v), 1:3, x),
    "sum(f, xs)" => (b, x) -> sum(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "sum(f, xs), singleton elements" => (b, x) -> sum(((i, v),) -> square_zero!(b, i, v), collect(zip(1:3, x))),
    "sum(f, tuple)" => (b, x) -> sum(i -> (b[i] = x[i]^2; x[i]), (1, 2, 3)),
    "sum of a generator" => (b, x) -> sum((b[i] = x[i]^2; x[i]) for i in 1:3),
    "sum(f, xs; dims)" => (b, x) -> sum(i -> i > 0 ? (b[i] = x[i]^2; x[i]) : 0.0, [1 2 3]; dims=2),
    "prod(f, xs)" => (b, x) -> prod(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "mean(f, xs)" => (b, x) -> mean(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "maximum(f, xs)" => (b, x) -> maximum(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "mapreduce" => (b, x) -> mapreduce(i -> (b[i] = x[i]^2; x[i]), +, 1:3),
    "mapreduce, two collections" => (b, x) -> mapreduce((i, v) -> (b[i] = v^2; v), +, 1:3, x),
    "mapreduce, init" => (b, x) -> mapreduce(i -> (b[i] = x[i]^2; x[i]), +, 1:3; init=0.0),
    "mapfoldl" => (b, x) -> mapfoldl(i -> (b[i] = x[i]^2; x[i]), +, 1:3),
    "mapfoldr" => (b, x) -> mapfoldr(i -> (b[i] = x[i]^2; x[i]), +, 1:3),
    "foldl, init" => (b, x) -> foldl((a, i) -> (b[i] = x[i]^2; a + x[i]), 1:3; init=0.0),
    "foldl" => (b, x) -> foldl((a, i) -> (b[i] = x[i]^2; b[1] = x[1]^2; a + i), 1:3),
    "foldl over a tuple" => (b, x) -> foldl((a, i) -> (b[i] = x[i]^2; a + x[i]), (1, 2, 3); init=0.0),
    "foldr" => (b, x) -> foldr((i, a) -> (b[i] = x[i]^2; a + x[i]), 1:3; init=0.0),
    "reduce, init" => (b, x) -> reduce((a, i) -> (b[Int(i)] = x[Int(i)]^2; a), 1:3; init=0),
    "accumulate" => (b, x) -> accumulate((a, i) -> (b[i] = x[i]^2; a + x[i]), 1:3; init=0.0),
    "any" => (b, x) -> any(i -> (b[i] = x[i]^2; false), 1:3),
    "all" => (b, x) -> all(i -> square_true!(b, i, x[i]), 1:3),
    "any of a generator" => (b, x) -> any((b[i] = x[i]^2; false) for i in 1:3),
    "count" => (b, x) -> count(i -> square_true!(b, i, x[i]), 1:3),
    "findfirst" => (b, x) -> findfirst(i -> (b[i] = x[i]^2; i == 3), [1, 2, 3]),
    "findlast" => (b, x) -> findlast(i -> (b[i] = x[i]^2; i == 1), [1, 2, 3]),
    "findnext" => (b, x) -> findnext(i -> (b[i] = x[i]^2; i == 3), [1, 2, 3], 1),
    "findall" => (b, x) -> findall(i -> square_true!(b, i, x[i]), [1, 2, 3]),
    "filter" => (b, x) -> filter(i -> square_true!(b, i, x[i]), [1, 2, 3]),
    "filter over a tuple" => (b, x) -> filter(i -> square_true!(b, i, x[i]), (1, 2, 3)),
    "foreach" => (b, x) -> foreach(i -> square!(b, i, x[i]), 1:3),
    "foreach, two collections" => (b, x) -> foreach((i, v) -> square!(b, i, v), 1:3, x),
    "ntuple" => (b, x) -> ntuple(i -> square!(b, i, x[i]), 3),
    "ntuple, Val" => (b, x) -> ntuple(i -> square!(b, i, x[i]), Val(3)),
    "ntuple, long" => (b, x) -> ntuple(i -> (i <= 3 && square!(b, i, x[i]); nothing), 12),
    "splat of a generator" => (b, x) -> tuple((square!(b, i, x[i]) for i in 1:3)...),
    "closure" => (b, x) -> (f = i -> square!(b, i, x[i]); f(1); f(2); f(3)),
    "keyword helpers" => (b, x) -> for i in 1:3
        through_keywords!(; b, i, v=x[i])
    end,
    "map of keyword helpers" => (b, x) -> map(i -> through_keywords!(; b, i, v=x[i]), 1:3),
    "let" => (b, x) -> let c = b, y = x
        map(i -> square!(c, i, y[i]), 1:3)
    end,
    "get" => (b, x) -> (d = Dict(:a => 1); foreach(i -> get(() -> square!(b, i, x[i]), d, i == 0 ? :a : :c), 1:3)),
    "get!" => (b, x) -> (d = Dict{Int,Any}(); foreach(i -> get!(() -> square!(b, i, x[i]), d, i), 1:3)),
    "loop over zip" => (b, x) -> for (i, v) in zip(1:3, x)
        square!(b, i, v)
    end,
    "loop over enumerate" => (b, x) -> for (i, v) in enumerate(x)
        square!(b, i, v)
    end,
    "loop over pairs" => (b, x) -> for (i, v) in pairs(x)
        square!(b, i, v)
    end,
    "loop over eachcol" => (b, x) -> for (i, c) in enumerate(eachcol(reshape(x, 1, 3)))
        square!(b, i, c[1])
    end,
    "loop over eachrow" => (b, x) -> for (i, r) in enumerate(eachrow(reshape(x, 3, 1)))
        square!(b, i, r[1])
    end,
    "loop over Iterators.map" => (b, x) -> for _ in Iterators.map(i -> square!(b, i, x[i]), 1:3)
    end,
    "loop over Iterators.filter" => (b, x) -> for _ in Iterators.filter(i -> square_true!(b, i, x[i]), 1:3)
    end,
    "loop over Iterators.reverse" => (b, x) -> for i in Iterators.reverse(1:3)
        square!(b, i, x[i])
    end,
    "loop over Iterators.take" => (b, x) -> for i in Iterators.take(1:5, 3)
        square!(b, i, x[i])
    end,
    "loop over Iterators.drop" => (b, x) -> for i in Iterators.drop(0:3, 1)
        square!(b, i, x[i])
    end,
    "loop over Iterators.product" => (b, x) -> for (i, k) in Iterators.product(1:3, 1:1)
        square!(b, i, x[i])
    end,
    "loop over Iterators.flatten" => (b, x) -> for i in Iterators.flatten((1:2, 3:3))
        square!(b, i, x[i])
    end,
    "loop over Iterators.takewhile" => (b, x) -> for i in Iterators.takewhile(i -> (i <= 3 && square!(b, i, x[i]); i <= 3), 1:5)
    end,
    "collect of Iterators.map" => (b, x) -> collect(Iterators.map(i -> square!(b, i, x[i]), 1:3)),
    "collect of Iterators.filter" => (b, x) -> collect(Iterators.filter(i -> square_true!(b, i, x[i]), 1:3)),
    "Fix1" => (b, x) -> foreach(i -> Base.Fix1((c, v) -> square!(c, i, v), b)(x[i]), 1:3),
    "Fix2" => (b, x) -> foreach(i -> Base.Fix2((v, c) -> square!(c, i, v), b)(x[i]), 1:3),
    "map of Fix1" => (b, x) -> map(Base.Fix1((c, i) -> square!(c, i, x[i]), b), 1:3),
    "composition" => (b, x) -> map((i -> square!(b, i, x[i])) ∘ identity, 1:3),
    "collect of zip" => (b, x) -> collect(zip((square!(b, i, x[i]) for i in 1:3), 1:3)),
    "Dict of a generator" => (b, x) -> Dict(i => square!(b, i, x[i]) for i in 1:3),
    "findmax(f, xs)" => (b, x) -> findmax(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "extrema(f, xs)" => (b, x) -> extrema(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "all, a Buffer in a dictionary" => (b, x) -> (d = Dict(:b => b); all(i -> square_true!(d[:b], i, x[i]), 1:3)),
    "all over a dictionary" => (b, x) -> all(p -> square_true!(b, p[1], x[p[1]]), Dict(1 => 1, 2 => 2, 3 => 3)),
    "task_local_storage" => (b, x) -> task_local_storage(() -> foreach(i -> square!(b, i, x[i]), 1:3), :key, 1),
    "pmap" => (b, x) -> pmap(i -> square!(b, i, x[i]), 1:3),
    "@sync @async" => (b, x) -> @sync(for i in 1:3
        @async square!(b, i, x[i])
    end),
    "@sync @spawn" => (b, x) -> @sync(for i in 1:3
        Threads.@spawn square!(b, i, x[i])
    end),
    "@spawn in the caller's pool" => (b, x) -> @sync(for i in 1:3
        Threads.@spawn Threads.threadpool() square!(b, i, x[i])
    end),
    "fetch(@spawn)" => (b, x) -> for i in 1:3
        fetch(Threads.@spawn square!(b, i, x[i]))
    end,
    "fetch, tasks in another order" => (b, x) -> begin
        t1 = Threads.@spawn square!(b, 1, x[1])
        t2 = Threads.@spawn square!(b, 2, x[2])
        square!(b, 3, x[3])
        fetch(t2)
        fetch(t1)
    end,
    "@threads" => (b, x) -> Threads.@threads(for i in 1:3
        square!(b, i, x[i])
    end),
]

# The value of the filling call is x[1] + x[2] + x[3] and is used.
const used = [
    "map" => (b, x) -> sum(map(i -> (b[i] = x[i]^2; x[i]), 1:3)),
    "map, x as argument" => (b, x) -> sum(map((i, v) -> (b[i] = v^2; v), 1:3, x)),
    "map over a tuple" => (b, x) -> sum(map(i -> (b[i] = x[i]^2; x[i]), (1, 2, 3))),
    "map, some results without gradient" => (b, x) -> sum(map(i -> (b[i] = x[i]^2; i == 2 ? 0.0 : x[i]), 1:3)) + x[2],
    "map, one result used" => (b, x) -> map(i -> (b[i] = x[i]^2; x[i]), 1:3)[2] + x[1] + x[3],
    "map of Buffers" => (b, x) -> (cs = map(i -> Buffer([x[i]]), 1:3); map((c, i) -> (b[i] = c[1]^2; nothing), cs, 1:3);
                                   cs[1][1] + cs[2][1] + cs[3][1]),
    "map, a Buffer of its own in each call" => (b, x) -> (b .= x .^ 2; sum(map(v -> (c = Buffer([v]); c[1] = 2 * c[1]; c[1] / 2), x))),
    "comprehension" => (b, x) -> sum([(b[i] = x[i]^2; x[i]) for i in 1:3]),
    "comprehension over x" => (b, x) -> sum([(b[i] = v^2; v) for (i, v) in enumerate(x)]),
    "comprehension with a condition" => (b, x) -> sum([(b[i] = x[i]^2; x[i]) for i in 1:4 if i <= 3]),
    "comprehension, condition reads what was written" => (b, x) -> (b[1] = 0.0;
        s = sum([(b[1] += 1; v) for v in x if b[1] < 2]); b .= x .^ 2; s + x[3]),
    "comprehension over a lazy map" => (b, x) -> sum([2v for v in Iterators.map(i -> (b[i] = x[i]^2; x[i] / 2), 1:3)]),
    "broadcast of a closure" => (b, x) -> sum((i -> (b[i] = x[i]^2; x[i])).(1:3)),
    "broadcast with Ref" => (b, x) -> sum(((c, i, v) -> (c[i] = v^2; v)).(Ref(b), 1:3, x)),
    "broadcast, expanding" => (b, x) -> sum(((i, v) -> (b[i] = v^2; v)).(1:3, x)),
    "broadcast over a tuple" => (b, x) -> sum(((i, v) -> (b[i] = v^2; v)).((1, 2, 3), Tuple(x))),
    "sum(f, xs)" => (b, x) -> sum(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "sum(f, tuple)" => (b, x) -> sum(i -> (b[i] = x[i]^2; x[i]), (1, 2, 3)),
    "sum(f, x)" => (b, x) -> (k = Ref(0); sum(v -> (k[] += 1; b[k[]] = v^2; v), x)),
    "sum of a generator" => (b, x) -> sum((b[i] = x[i]^2; x[i]) for i in 1:3),
    "sum(f, xs; dims)" => (b, x) -> sum(sum(i -> i > 0 ? (b[i] = x[i]^2; x[i]) : 0.0, [1 2 3]; dims=2)),
    "mean(f, xs)" => (b, x) -> 3 * mean(i -> (b[i] = x[i]^2; x[i]), 1:3),
    "mapreduce" => (b, x) -> mapreduce(i -> (b[i] = x[i]^2; x[i]), +, 1:3),
    "mapreduce, long" => (b, x) -> mapreduce(i -> (i <= 3 ? (b[i] = x[i]^2; x[i]) : 0.0), +, 1:1500),
    "mapfoldl" => (b, x) -> mapfoldl(i -> (b[i] = x[i]^2; x[i]), +, 1:3),
    "foldl" => (b, x) -> foldl((a, i) -> (b[i] = x[i]^2; a + x[i]), 1:3; init=0.0),
    "foldl over x" => (b, x) -> (b .= x .^ 2; foldl((a, v) -> (b[1] += 0 * v; a + v), x)),
    "foldl, gradient of init" => (b, x) -> (b .= x .^ 2; foldl((a, v) -> a + v, x[2:3]; init=x[1])),
    "foldr" => (b, x) -> foldr((i, a) -> (b[i] = x[i]^2; a + x[i]), 1:3; init=0.0),
    "reduce" => (b, x) -> (b .= x .^ 2; reduce((a, v) -> (b[1] += 0; a + v), x; init=0.0)),
    "accumulate" => (b, x) -> accumulate((a, i) -> (b[i] = x[i]^2; a + x[i]), 1:3; init=0.0)[end],
    "ntuple" => (b, x) -> sum(ntuple(i -> (b[i] = x[i]^2; x[i]), 3)),
    "filter" => (b, x) -> (k = Buffer([0]); sum(filter(v -> (k[1] += 1; b[k[1]] = v^2; true), x))),
    "get!" => (b, x) -> (d = Dict{Int,Float64}(); sum([get!(() -> (b[i] = x[i]^2; x[i]), d, i) for i in 1:3])),
    "splat of a generator" => (b, x) -> +(((b[i] = x[i]^2; x[i]) for i in 1:3)...),
    "fetch(@spawn)" => (b, x) -> sum([fetch(Threads.@spawn (b[i] = x[i]^2; x[i])) for i in 1:3]),
    "try without an exception" => (b, x) -> (s = 0.0; for i in 1:3
        try
            b[i] = x[i]^2
        catch
        end
        s += x[i]
    end; s),
]

@testset "writes inside calls whose value is unused: $name" for (name, fill_b!) in unused
    f = filled(fill_b!)
    @test f(x0) == 14.0
    @test MutationBridge.withgradient(f, x0) == (val=14.0, grad=(2x0,))
    _, back = MutationBridge.pullback(f, x0)
    @test back(1.0) == (2x0,)
    @test back(10.0) == (20x0,)
end

@testset "writes inside calls whose value is used: $name" for (name, fill_b!) in used
    f = filled_used(fill_b!)
    @test f(x0) ≈ 20.0
    value, grad = MutationBridge.withgradient(f, x0)
    @test value ≈ 20.0
    @test grad[1] ≈ 2x0 .+ 1
end

@testset "types say what may hold a Buffer" begin
    b = Buffer([1.0])
    holding(x) = (x, [x], Ref(x), Dict(:a => x), Dict(:a => Dict(1 => x)), Set([x]), IdDict{Symbol,typeof(x)}(:a => x), (_ -> x))
    @test all(MutationBridge.may_reach_buffer, holding(b))
    @test !any(MutationBridge.may_reach_buffer, filter(x -> !(x isa IdDict), holding(1.0)))   # whose fields say nothing
end

# Reads inside the same calls: no write, one gradient.
@testset "reads inside calls" begin
    read(f) = MutationBridge.gradient(x -> f(Buffer(x .^ 2)), x0)[1]
    @test read(b -> sum(map(i -> b[i], 1:3))) == 2x0
    @test read(b -> sum(i -> b[i], 1:3)) == 2x0
    @test read(b -> sum((i -> b[i]).(1:3))) == 2x0
    @test read(b -> sum(((c, i) -> c[i]).(Ref(b), 1:3))) == 2x0
    @test read(b -> sum([b[i] for i in 1:3])) == 2x0
    @test read(b -> foldl((a, i) -> a + b[i], 1:3; init=0.0)) == 2x0
    @test read(b -> any(i -> b[i] > 1, 1:3) ? b[1] : b[2]) == [2.0, 0.0, 0.0]
    @test read(b -> b[findfirst(i -> b[i] > 1, [1, 2, 3])]) == [0.0, 4.0, 0.0]
    @test read(b -> sum(filter(v -> v > b[1], copy(b)))) == [0.0, 4.0, 6.0]
    @test read(b -> b[sort([3, 2, 1]; by=i -> b[i])[1]]) == [2.0, 0.0, 0.0]
end

# Without a Buffer in sight the context gives what Zygote gives.
@testset "as Zygote where nothing is written" begin
    A = reshape(collect(1.0:6.0), 2, 3)
    same(f, args...) = @test MutationBridge.gradient(f, args...) == Zygote.gradient(f, args...)
    same(x -> sum(map(v -> v^2, x)), x0)
    same(x -> sum(map((v, w) -> v * w, x, 2x)), x0)
    same(x -> (a = 2.0; sum(map(v -> a * v^2, x))), x0)
    same((x, a) -> sum(map(v -> a * v^2, x)), x0, 3.0)
    same(x -> sum(sin.(x) .* x .+ x[1]), x0)
    same((x, a) -> sum((v -> a * v).(x)), x0, 3.0)
    same(x -> sum(x .* x'), x0)
    same(A -> sum(abs2, A; dims=1)[2], A)
    same(A -> sum(v -> v^3, A; dims=1)[2], A)
    same(A -> sum(v -> v^3, A'), A)
    same(A -> sum(sum(c) for c in eachcol(A)), A)
    same(x -> mean(v -> v^2, x), x0)
    same(x -> sum([v^2 for v in x if v > 1]), x0)
    same(x -> sum(filter(v -> v > 1, x)), x0)
    same(x -> foldl(*, x), x0)
    same(x -> sum(accumulate(*, x)), x0)
    same(x -> sum(ntuple(i -> x[i]^2, 3)), x0)
    same(x -> sum(map(v -> v^2, Tuple(x))), x0)
    same(x -> sum(sin.(Tuple(x))), x0)
    same(x -> prod(v -> v^2, x), x0)
    same(x -> Base.Fix1(*, x[1])(x[2]), x0)
    same(x -> get(() -> x[2], Dict(:a => x[1]), :b), x0)
    same(x -> count(>(1), x) * x[1], x0)
    same(x -> sum(x .> 1) * x[1], x0)
    same(x -> dot(x, x[end:-1:1]), x0)
    same(x -> sum(sort(x; rev=true)[1:2]), x0)
    same(x -> sum(vcat(x, map(abs2, x))), x0)
end

@testset "the value of a comprehension over a tuple is an array" begin
    @test MutationBridge.withgradient(x -> [v^2 for v in Tuple(x)]' * [1, 2, 3], x0).grad[1] == [2.0, 8.0, 18.0]
end

const global_buffer = Buffer(zeros(3))
square_global!(i, v) = (global_buffer[i] = v^2; true)

overwrite!(x) = (x .= 2; x)
ChainRulesCore.rrule(::typeof(overwrite!), x::Vector) = overwrite!(copy(x)), _ -> (ChainRulesCore.NoTangent(), zero(x))

# What cannot be run raises, and says what to do.
@testset "lost gradients: $name" for (name, f, words) in [
    ("sort(by=)", x -> (b = Buffer(x); sort([1, 2, 3]; by=i -> (b[1] += x[1]; i)); sum(copy(b))), "writes"),
    ("Zygote.ignore", x -> (b = Buffer(x); Zygote.ignore(() -> (b[1] = 2.0)); sum(copy(b))), "written"),
    ("fused broadcast", x -> (b = Buffer(x); h(i) = (b[i] = 2 * b[i]; i); g(i) = b[1] * i; sum(g.(h.(1:3)))), "fused"),
    ("write in a fused broadcast, read beside it",
     x -> (b = Buffer(x); h(i) = (b[i] = 2 * b[i]; i); sum(sin.(h.(1:3)) .+ b[:])), "fused"),
    ("assignment of a broadcast that reads its target", x -> (b = Buffer(x); b .= (i -> b[4-i]).(1:3); sum(copy(b))), "fused"),
    ("a rule that writes an array", x -> (overwrite!(x); sum(x)), "@mutating_rule"),
    ("a Buffer in a global, Boolean broadcast", x -> (square_global!.(1:3, x); sum(copy(global_buffer))), "Buffer"),
    ("a Buffer in a global, any", x -> (any(i -> !square_global!(i, x[i]), 1:3); sum(copy(global_buffer))), "Buffer"),
    ("checkpointed", x -> (b = Buffer(x); Zygote.checkpointed(v -> (b[1] = v[2]^2; 0.0), x); sum(copy(b))), "written"),
]
    error = try
        MutationBridge.gradient(f, x0)
    catch e
        e
    end
    @test error isa Union{LostGradient,MutationError}
    error isa Union{LostGradient,MutationError} && @test occursin(words, error.msg)
end

end
