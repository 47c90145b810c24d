# Memory that code names, in sizes that change: Mooncake, which writes its tangents of it without a look at bounds, has them in these sizes.

module SizesTests

using MutationBridge: MutationBridge, Disproved, NoEngine, Outside, by_memory, changes_sizes, pullback_by
using DifferentiationInterface, SparseArrays, Test

mutable struct Cache
    work::Vector{Float64}
end

mutable struct Unfinished
    work::Vector{Float64}
    Unfinished() = new()
    Unfinished(work) = new(work)
end

const LIST = Float64[]
const SCRATCH = zeros(3)
const TABLE = zeros(3, 3)
const MEMO = Dict{Vector{Float64},Vector{Float64}}()
const CACHE = Cache(zeros(3))
const NESTED = [zeros(3)]
const HELD = Ref(zeros(3))
const COUNT = Ref(0.0)
const DATA = [1.0]
const STEPS = Int[]

const MATRIX = spzeros(3, 3)
const GROW = push!
const Numbers = Union{Int,Float64}

extend!(list, v) = push!(list, v)
grown_by(grow, x) = (y = copy(x); y[1] *= 2; grow(LIST, y[1]); sum(y) * length(LIST))

struct Model
    losses::Vector{Float64}
end
(m::Model)(x) = (push!(MODEL.losses, sum(x)); sum(abs2, x))
const MODEL = Model(Float64[])
@eval with_literal(x) = (push!($(Float64[]), x[1]); sum(x))

const X3 = [1.0, 2.0, 3.0]

@testset "whether a call may change sizes" begin
    changes(f) = changes_sizes(Outside(f))
    @test changes(x -> (push!(LIST, x[1]); sum(x)))
    @test changes(x -> (extend!(LIST, x[1]); sum(x)))
    @test changes(x -> (resize!(SCRATCH, length(x)); sum(x)))
    @test changes(x -> (copy!(SCRATCH, x); sum(x)))
    @test changes(x -> (MEMO[x] = x; sum(x)))
    @test changes(x -> (CACHE.work = x; sum(x)))
    @test changes(x -> (NESTED[1] = x; sum(x)))
    @test changes(x -> (HELD[] = x; sum(x)))
    @test changes(x -> (MATRIX[1, 2] = x[1]; sum(x)))
    @test changes(x -> (GROW(LIST, x[1]); sum(x)))
    @test changes(let grow = push!; x -> (grow(LIST, x[1]); sum(x)); end)
    @test changes_sizes(Outside(grown_by, (push!, X3))) && !changes_sizes(Outside(grown_by, (vcat, X3)))
    @test changes(MODEL) && changes(with_literal)
    @test !changes(x -> x isa AbstractVecOrMat ? sum(x) : x isa Numbers ? x : x isa Function)
    @test !changes(x -> (SCRATCH .= x; SCRATCH[1] = 2; fill!(SCRATCH, 1); sum(SCRATCH)))
    @test !changes(x -> (push!(TABLE, x[1]); sum(x)))       # there is no such method
    @test !changes(x -> (COUNT[] += 1; sum(x)))
    @test !changes(x -> sum(LIST) * sum(x))
    @test !changes(x -> (y = Float64[]; push!(y, x[1]); sum(y)))
end

const HAS_MOONCAKE = Base.find_package("Mooncake") !== nothing
HAS_MOONCAKE && @eval using Mooncake
HAS_MOONCAKE || @info "Mooncake is not in the project: what it does about sizes is not tested"

# As a loss that keeps its history. The write into `y` is what Zygote refuses.
function listed(x)
    y = copy(x)
    y[2] *= y[1]
    push!(LIST, sum(y))
    return sum(abs2, y)
end
by_hand(x) = [2x[1] + 2x[1] * x[2]^2, 2x[1]^2 * x[2], 2x[3]]

function counted(x)
    push!(STEPS, length(STEPS))
    return listed(x)
end
function guarded_by_try(x)
    try
        push!(LIST, x[1])
    catch
        empty!(LIST)
    end
    return listed(x)
end

called_with(f, x) = f(x)
function listed_twice(x)
    push!(LIST, x[1])
    return listed(x)
end

function weighted(x)
    y = similar(x)
    for i in eachindex(x)
        y[i] = sum(DATA) * x[i]
    end
    return sum(abs2, y)
end

function by_memo(x)
    y = similar(x)
    for i in eachindex(x)
        y[i] = MEMO[[1.0]][1] * x[i]
    end
    return sum(abs2, y)
end

if HAS_MOONCAKE
    extension = Base.get_extension(MutationBridge, :MutationBridgeMooncakeExt)
    sizes(rule, list) = unique((length(list), length(Mooncake.tangent(x))) for x in extension.constants(rule) if Mooncake.primal(x) === list)

    # From Julia 1.11 on `push!` itself names the list in several places, once it is inlined.
    VERSION < v"1.11" && @testset "a list that each call makes longer, by $ad" for ad in (:mooncake, :auto)
        empty!(LIST)
        for k in 1:40
            x = X3 .* k
            value, back = pullback_by(ad, listed, x)
            @test only(back(1.0)) ≈ by_hand(x)
            @test length(LIST) == k && last(LIST) == x[1] + x[1] * x[2] + x[3]
        end
        append!(LIST, zeros(1000))
        @test only(last(pullback_by(ad, listed, X3))(1.0)) ≈ by_hand(X3)
        resize!(LIST, 3)
        @test only(last(pullback_by(ad, listed, X3))(1.0)) ≈ by_hand(X3)
    end

    @testset "each step is looked at where a call may change sizes, and only there" begin
        looked_at(f) = by_memory(by -> by.config !== nothing && by.config.debug_mode, AutoMooncake(; config=nothing), Outside(f))
        @test looked_at(listed) && !looked_at(weighted) && !looked_at(sum)
    end

    @testset "Mooncake is not let loose without the extension" begin
        without(backend) = invoke(by_memory, Tuple{Any,Any,Outside}, _ -> 1, backend, Outside(weighted))
        @test_throws "Pkg.resolve()" without(AutoMooncake(; config=nothing))
        @test without(AutoForwardDiff()) == 1
    end

    kept() = count(pair -> Mooncake.primal(last(pair)) === MEMO, extension.constants())

    # Before each run the tangents in all rules, of whoever made them, have the sizes of their memory.
    run_now(f) = by_memory(_ -> nothing, AutoMooncake(; config=nothing), Outside(f))
    @testset "rules that were made before have the sizes of now" begin
        DATA[:] = [1.0]
        rule = Mooncake.build_rrule(weighted, X3)
        Mooncake.value_and_gradient!!(rule, weighted, X3)
        append!(DATA, ones(1000))
        @test sizes(rule, DATA) == [(1001, 1)]      # what Mooncake has
        run_now(sum)
        @test sizes(rule, DATA) == [(1001, 1001)]
        @test only(last(pullback_by(:auto, weighted, X3))(1.0)) ≈ 2 * 1001^2 .* X3
        resize!(DATA, 1)
        @test only(last(pullback_by(:auto, weighted, X3))(1.0)) ≈ 2 .* X3

        MEMO[[1.0]] = [2.0]
        @test only(last(pullback_by(:mooncake, by_memo, X3))(1.0)) ≈ 8 .* X3
        @test kept() > 0
        run_now(sum)
        @test kept() > 0
        sizehint!(MEMO, 10_000)                     # the same keys, in other places of a longer table
        run_now(sum)
        @test kept() == 0                           # such rules are made again
        @test only(last(pullback_by(:mooncake, by_memo, X3))(1.0)) ≈ 8 .* X3
        fits(x, y) = extension.fits(x, Mooncake.fdata(Mooncake.zero_tangent(y)))
        @test fits(Int[1], Int[2]) && !fits(Int[1], Int[])
        @test fits([[1.0]], [[2.0]]) && !fits([[1.0]], [[1.0, 2.0]])
        @test fits((a=[1.0], b=CACHE), (a=[2.0], b=CACHE)) && !fits((a=[1.0], b=1.0), (a=[2.0, 3.0], b=1.0))
        @test fits(Unfinished(), Unfinished()) && !fits(Unfinished([1.0]), Unfinished([1.0, 2.0]))
        @test fits(Cache([1.0]), Cache([2.0])) && !fits(Cache([1.0]), Cache([1.0, 2.0]))
        a, b = zeros(3), zeros(2)
        @test !fits([a, a], [a, b])         # one array, and two tangents
        @test fits(Dict(1 => 2.0), Dict(1 => 3.0)) && !fits(sizehint!(Dict(1 => 2.0), 1000), Dict(1 => 3.0))
    end

    VERSION < v"1.11" && @testset "lists of integers, and errors that are not about sizes" begin
        empty!(LIST)
        for k in 1:5
            @test only(last(pullback_by(:mooncake, counted, X3))(1.0)) ≈ by_hand(X3)
        end
        _, back = pullback_by(:mooncake, guarded_by_try, X3)
        @test_throws "try" back(1.0)
        @test extension.is_about_sizes(BoundsError([1], 2)) && !extension.is_about_sizes(ErrorException("error of the function"))
    end

    @testset "where Mooncake loses track, that is said" begin
        empty!(LIST)
        value, back = pullback_by(:mooncake, listed_twice, X3)
        # The first time the second place is met when the list is longer already.
        @test_throws "may change the size of memory that outlives the call ($(@__MODULE__).LIST)" (back(1.0), back(1.0))
        @test_throws Disproved back(1.0)
        @test length(LIST) == 2 && value == listed(X3)
        value, back = pullback_by(:mooncake, called_with, listed_twice, X3)
        @test_throws "may change the size of memory" (back(1.0), back(1.0))
        value, back = pullback_by(:auto, listed_twice, X3)
        @test_throws NoEngine (back(1.0), back(1.0))
    end
end

end
