# NNlib's `gather`, by which Flux looks up embeddings: it calls `gather!` on an array of its own, and only that has a rule.
module MutationBridgeNNlibExt

using MutationBridge: Context, MutationBridge
using MutationBridge.ChainRulesCore: rrule
using MutationBridge.Zygote: Zygote
using MutationBridge.ZygoteRules: ZygoteRules
using NNlib: gather, gather!

function ZygoteRules._pullback(cx::Context, ::typeof(gather), src::AbstractArray, idx::AbstractArray)
    y, back = rrule(gather!, gather(src, idx), src, idx)
    pull = Zygote.ZBack(back)
    function gather_pullback(ct)
        cotangents = pull(ct)
        return cotangents === nothing ? nothing : (nothing, cotangents[3], nothing)
    end
    return y, MutationBridge.Prompt(cx, gather_pullback)
end

end
