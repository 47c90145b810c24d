# The tags of this package's own dual numbers: one for each direction along which a derivative is taken.

"""What marks the dual numbers of direction number `K`."""
struct Along{K} end
const Level{K} = ForwardDiff.Tag{Along{K},Float64}

# A level lies inside of the next one, and all of them inside of what the function nests itself by ForwardDiff: it begins when they
# are there. ForwardDiff numbers tags as it compiles for them, which says nothing of that, and less in precompiled code. These methods
# come before `widest_dual`, a generated function, which knows what is defined before it.
ForwardDiff.:≺(::Type{ForwardDiff.Tag{Along{J},V}}, ::Type{ForwardDiff.Tag{Along{K},W}}) where {J,K,V,W} = J < K
ForwardDiff.:≺(::Type{ForwardDiff.Tag{Along{K},V}}, ::Type{ForwardDiff.Tag{F,W}}) where {K,F,V,W} = true
ForwardDiff.:≺(::Type{ForwardDiff.Tag{F,V}}, ::Type{ForwardDiff.Tag{Along{K},W}}) where {K,F,V,W} = false
