# Types that refer to themselves: Mooncake would derive the types of their tangents without end, and end the process.

module RecursiveTypesTests

using MutationBridge: MutationBridge, NoEngine, RecursiveType, pullback_by
using Test

mutable struct Node
    value::Float64
    next::Union{Nothing,Node}
end

struct Link{T}
    value::T
    rest::Union{Nothing,Link{T}}
end

struct Tree
    value::Float64
    parts::Vector{Tree}
end

struct Graph
    value::Float64
    edges::Dict{Int,Graph}
end

abstract type Partner end
mutable struct Left{P<:Partner}
    value::Float64
    right::Union{Nothing,P}
end
mutable struct Right <: Partner
    value::Float64
    left::Union{Nothing,Left{Right}}
end

struct Box{T}
    value::T
end
mutable struct Boxed
    value::Float64
    self::Union{Nothing,Box{Boxed}}
end

# Fields whose types are not concrete have tangents of any type, and integers have none.
struct Untyped
    value::Float64
    next
end
abstract type Shape end
struct Circle <: Shape
    value::Float64
end
struct Group <: Shape
    value::Float64
    parts::Vector{Shape}
end
struct Applied{F<:Function}
    f::F
    args::Vector{Applied}
    value::Float64
end
struct Pieces{N}
    value::Float64
    parts::NTuple{N,Pieces{N}}
end

# A type that somebody else has told Mooncake about.
mutable struct Told
    value::Float64
    next::Union{Nothing,Told}
end

@noinline first_of(part, v) = (part.value * v)::Float64
@noinline second_of(part, v) = v

function through_list(x)
    head = nothing
    for v in x
        head = Node(v, head)
    end
    total = 0.0
    while head !== nothing
        total = total / 2 + head.value^2
        head = head.next
    end
    return total
end
function through_partners(x)
    left = Left{Right}(x[1], nothing)
    left.right = Right(x[2], left)
    return left.value * left.right.left.value
end
through_types_in_a_list(x) = (T = Any[Node][1]; first_of(T(x[1], nothing), x[2]))
const KEPT = Node(3.0, nothing)

const REFUSED = (
    "a list" => through_list => "Node.next::",
    "a list of any numbers" => (x -> first_of(Link(x[1], Link(x[2], nothing)), x[2])) => "Link{Float64}.rest::",
    "a tree" => (x -> first_of(Tree(x[1], [Tree(x[2], Tree[])]), x[2])) => "Tree.parts::",
    "a dictionary of itself" => (x -> first_of(Graph(x[1], Dict(1 => Graph(x[2], Dict{Int,Graph}()))), x[2])) => "Graph.edges::",
    "two types" => through_partners => "Right.left::",
    "a type with a parameter between" => (x -> (b = Boxed(x[1], nothing); b.self = Box(b); b.self.value.value * x[2])) => "Boxed.self::",
    "in an array" => (x -> (list = Node[]; push!(list, Node(x[1], nothing)); list[1].value * x[2])) => "Node.next::",
    "in an array of anything" => (x -> (list = Any[Node(x[1], nothing)]; (list[1]::Node).value * x[2])) => "Node.next::",
    "a type that is known when it runs" => through_types_in_a_list => "Node.next::",
    "what a closure captures" => (let node = Node(2.0, nothing); x -> node.value * x[1] * x[2] end) => "Node.next::",
    "what a global holds" => (x -> KEPT.value * x[1] * x[2]) => "Node.next::",
    "a dictionary of Base's" => (x -> Base.ImmutableDict(:a => x[1])[:a] * x[2]) => "Base.ImmutableDict{Symbol, Float64}.parent::",
)

const DIFFERENTIATED = (
    "an untyped field" => x -> first_of(Untyped(x[1], Untyped(x[2], nothing)), x[2]),
    "a list of an abstract type" => x -> first_of(Group(x[1], Shape[Circle(x[2]), Group(x[1], Shape[])]), x[2]),
    "a list of a type without its parameter" => x -> first_of(Applied(sin, Applied[Applied(cos, Applied[], x[1])], x[1]), x[2]),
    "a type of which only others refer to themselves" => x -> first_of(Pieces{0}(x[1], ()), x[2]),
    "a parameter of which other values refer to themselves" => x -> first_of(Box(x[1]), x[2]),
    "a type that is named and not made" => x -> (Any[x[1]][1] isa Node ? 0.0 : x[1]) * x[2],
    "a type that the compiler removes" => x -> (n = Tree(x[1], Tree[]); n.value * x[2]),
)

if Base.find_package("Mooncake") === nothing
    @info "Mooncake is not in the project: what it refuses is not tested"
else
    using DifferentiationInterface, Mooncake

    @eval Mooncake.tangent_type(::Type{Told}) = Mooncake.NoTangent

    X2 = [2.0, 3.0]
    raised(ad, f, x=X2) = try
        last(pullback_by(ad, f, x))(1.0)
    catch error
        error
    end

    @testset "$name" for (name, (f, field)) in REFUSED
        for _ in 1:2    # in the world in which the first was refused
            error = raised(:mooncake, f)
            @test error isa RecursiveType
            owner = startswith(field, "Base.") ? "" : "$(@__MODULE__)."
            for part in ("Mooncake cannot differentiate ", "refers to itself ($owner$field", "Use ad=:zygote, or keep the elements in arrays")
                @test contains(error.msg, part)
            end
        end
    end

    @testset "$name" for (name, f) in DIFFERENTIATED
        @test raised(:mooncake, f) == ([3.0, 2.0],)
    end

    @testset "the function is named" begin
        @test startswith(sprint(showerror, raised(:mooncake, through_list)), "RecursiveType: Mooncake cannot differentiate through_list: ")
    end

    @testset "other engines" begin
        @test raised(:auto, through_list) == ([4.0, 3.0],)
        writes(x) = (y = copy(x); y[1] *= 2; first_of(Node(y[1], nothing), y[2]))
        if Base.find_package("Enzyme") === nothing
            error = raised(:auto, writes)
            @test error isa NoEngine && last(last(error.refusals)) isa RecursiveType
            @test contains(sprint(showerror, error), "\nmooncake: RecursiveType: Mooncake cannot differentiate ")
        end
    end

    @testset "a tangent type that somebody wrote" begin
        @test raised(:mooncake, x -> second_of(Told(2.0, nothing), x[1]) * x[2]) == ([3.0, 2.0],)
        @test Mooncake.tangent_type(Told) === Mooncake.NoTangent
    end
end

end
