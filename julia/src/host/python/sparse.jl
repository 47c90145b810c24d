# SciPy's sparse matrices as one `SparseMatrixCSC` each: leaves say what is stored, and where. Only what is stored is differentiated.

"""
A place for a sparse matrix: the leaf of its entries, after which come those of rows, columns, places (which entry each of these is; `None`
if they are in order), height and width, counted from 0. `turned`: the function gets the transpose, as of every array.
"""
struct SparseLeaf
    index::Int
    turned::Bool
end
const PARTS_OF_SPARSE = 6

"The columns of a `SparseMatrixCSC`, and for each of SciPy's entries in it (`places`) where it lies there; several may lie at one place."
struct Pattern
    size::Dims{2}
    colptr::Vector{Int}
    rowval::Vector{Int}
    slots::Vector{Int}
    places::Union{Nothing,Vector{Int}}
end

"Read a sparse matrix, whose leaves come next."
read_sparse(count, turned) = (made = SparseLeaf(count[] + 1, turned); count[] += PARTS_OF_SPARSE; made)

"In the place of the leaf of its rows: the pattern of a sparse matrix."
function enter_pattern!(values::Vector{Any}, s::SparseLeaf)
    _, rows, columns, places, m, n = values[s.index:(s.index + PARTS_OF_SPARSE - 1)]
    kept = places === nothing ? nothing : places .+ 1
    values[s.index + 1] = s.turned ? pattern(columns, rows, kept, n, m) : pattern(rows, columns, kept, m, n)
    return
end

function pattern(rows::AbstractVector, columns::AbstractVector, places, m::Int, n::Int)
    order = sorted_by(columns, n, sorted_by(rows, m, eachindex(rows)))
    colptr, rowval, slots = zeros(Int, n + 1), Int[], similar(order)
    last = (-1, -1)
    for k in order
        here = (Int(rows[k]), Int(columns[k]))
        if here != last
            push!(rowval, rows[k] + 1)
            colptr[columns[k] + 2] += 1
            last = here
        end
        slots[k] = length(rowval)
    end
    colptr[1] = 1
    return Pattern((m, n), cumsum(colptr), rowval, slots, places)
end

"`order`, sorted by keys from 0 to `count - 1`; what has the same key stays in order."
function sorted_by(keys::AbstractVector, count::Int, order)
    next = zeros(Int, count + 1)
    next[1] = 1
    foreach(key -> next[key + 2] += 1, keys)
    cumsum!(next, next)
    sorted = Vector{Int}(undef, length(order))
    for k in order
        sorted[next[keys[k] + 1]] = k
        next[keys[k] + 1] += 1
    end
    return sorted
end

build(s::SparseLeaf, leaves) = matrix_of(leaves[s.index], leaves[s.index + 1])

"A new matrix with SciPy's entries."
function matrix_of(entries::AbstractVector{T}, p::Pattern) where {T}
    nzval = fill(zero(T), length(p.rowval))
    for (k, slot) in enumerate(p.slots)
        nzval[slot] = both(nzval[slot], entries[p.places === nothing ? k : p.places[k]])
    end
    return SparseMatrixCSC(p.size..., copy(p.colptr), copy(p.rowval), nzval)
end

both(a, b) = a + b
both(a::Bool, b::Bool) = a | b

"The gradient of SciPy's entries, given that of the matrix."
scatter!(found, s::SparseLeaf, gradient, values) = (found[s.index] = at_entries(gradient, values[s.index], values[s.index + 1]); nothing)
scatter!(found, s::SparseLeaf, gradient::Tuple, values) = (found[s.index] = first(gradient); nothing)

at_entries(gradient::Union{Nothing,AbstractZero}, entries, p::Pattern) = gradient
at_entries(gradient::AbstractThunk, entries, p::Pattern) = at_entries(unthunk(gradient), entries, p)
at_entries(gradient::Tangent, entries, p::Pattern) = at_entries(ChainRulesCore.backing(canonicalize(gradient)), entries, p)
at_entries(gradient::NamedTuple, entries, p::Pattern) = spread(gradient.nzval, entries, p)
at_entries(gradient::AbstractMatrix, entries, p::Pattern) = spread(stored(gradient, p), entries, p)

"The elements of a matrix at the places of a pattern."
stored(x::AbstractMatrix, p::Pattern) =
    [x[p.rowval[k], column] for column in 1:last(p.size) for k in p.colptr[column]:(p.colptr[column + 1] - 1)]
stored(x::SparseMatrixCSC, p::Pattern) =
    x.colptr == p.colptr && x.rowval == p.rowval ? x.nzval : invoke(stored, Tuple{AbstractMatrix,Pattern}, x, p)

spread(nzval::Union{Nothing,AbstractZero}, entries, p::Pattern) = nzval
spread(nzval::AbstractThunk, entries, p::Pattern) = spread(unthunk(nzval), entries, p)
function spread(nzval::AbstractVector{T}, entries, p::Pattern) where {T}
    p.places === nothing && return nzval[p.slots]
    found = zeros(T, length(entries))
    found[p.places] = nzval[p.slots]
    return found
end

"A function of the entries of sparse matrices, for engines that see numbers and arrays only."
struct OfEntries{F,S<:Branch}
    f::F
    positional::S
end
(of::OfEntries)(arguments...) = of.f(closed(of.positional, arguments)...)

opened(s::Leaf, values) = values[s.index]
opened(s::SparseLeaf, values) = (values[s.index], values[s.index + 1])
opened(s::Branch{nothing}, values) = map(part -> opened(part, values), s.parts)
opened(s::Branch{Names}, values) where {Names} = NamedTuple{Names}(map(part -> opened(part, values), s.parts))

closed(::Leaf, given) = given
closed(::SparseLeaf, given) = matrix_of(given...)
closed(s::Branch{nothing}, given) = map(closed, s.parts, given)
closed(s::Branch{Names}, given) where {Names} = NamedTuple{Names}(map(closed, s.parts, values(given)))

"The function wrote a sparse matrix, which is a copy of the caller's."
struct SparseWritten <: Exception end
Base.showerror(io::IO, ::SparseWritten) = print(io, "the function wrote a sparse argument")

"Raise if a sparse matrix among the arguments is not as it was built."
check_sparse(::Leaf, values, given) = nothing
check_sparse(s::Branch, values, given) = foreach((part, one) -> check_sparse(part, values, one), s.parts, Tuple(given))
function check_sparse(s::SparseLeaf, values, given)
    before = build(s, values)
    all(name -> isequal(getfield(before, name), getfield(given, name)), (:colptr, :rowval, :nzval)) || throw(SparseWritten())
    return
end

"How many leaves a structure has."
count_of(::Leaf) = 1
count_of(::SparseLeaf) = PARTS_OF_SPARSE
count_of(s::Branch) = sum(count_of, s.parts; init=0)

"The sparse matrices in a structure."
sparse_in(::Leaf) = SparseLeaf[]
sparse_in(s::SparseLeaf) = SparseLeaf[s]
sparse_in(s::Branch) = reduce(vcat, map(sparse_in, s.parts); init=SparseLeaf[])
