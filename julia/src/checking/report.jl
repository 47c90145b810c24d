# What `check_rule` found: checks that passed with their figures, failures with a code and a remedy, notes.

"""
    MutationBridge.Failure

A check of [`check_rule`](@ref) that failed: `code`, a symbol that stays the same, `what` was found, with the values, and the `remedy`.
"""
struct Failure
    code::Symbol
    what::String
    remedy::String
end

Base.show(io::IO, failure::Failure) =
    print(io, "[", failure.code, "] ", failure.what, "\n    remedy: ", failure.remedy)

"""
    MutationBridge.Report

The result of [`check_rule`](@ref), printed as a table: the `subject`, the `checks` that passed, each with its largest relative
difference (`NaN` where there is none), the `failures`, and `notes` on what could not be checked.
"""
struct Report
    subject::String
    checks::Vector{Pair{String,Float64}}
    failures::Vector{Failure}
    notes::Vector{String}
end

Report(subject) = Report(subject, [], [], [])

passed!(report::Report, name, figure = NaN) = (push!(report.checks, name => figure); nothing)
noted!(report::Report, text) = (text in report.notes || push!(report.notes, text); nothing)
function failed!(report::Report, code, what, remedy)
    any(failure -> failure.code === code && failure.what == what, report.failures) ||
        push!(report.failures, Failure(code, what, remedy))
    return nothing
end

codes(report::Report) = unique(failure.code for failure in report.failures)

function summary_of(report::Report)
    n, count = length(report.failures), "$(length(report.checks)) checks passed"
    return n == 0 ? count : string(n, n == 1 ? " failure, " : " failures, ", count)
end

function Base.show(io::IO, report::Report)
    print(io, report.subject, ": ", summary_of(report))
    foreach(failure -> print(io, "\n", failure), report.failures)
    names = unique(first.(report.checks))
    width = maximum(length, names; init = 0)
    for name in names
        figures = [figure for (other, figure) in report.checks if other == name]
        known = filter(!isnan, figures)
        print(io, "\n  ", rpad(name, width), isempty(known) ? " "^10 : string("  ", rpad(string(round(maximum(known); sigdigits = 2)), 8)))
        length(figures) > 1 && print(io, "  ", length(figures), " times")
    end
    foreach(note -> print(io, "\n  noted: ", note), report.notes)
end

"""
    RuleFailure(report)

Raised by [`check_rule`](@ref) for a rule that is wrong; its message lists every failure, `report.failures` holds them.
"""
struct RuleFailure <: Exception
    report::Report
end

function Base.showerror(io::IO, error::RuleFailure)
    print(io, "RuleFailure: ", error.report.subject, ": ", summary_of(error.report))
    foreach(failure -> print(io, "\n", failure), error.report.failures)
end
