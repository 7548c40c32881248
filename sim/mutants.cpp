#include "sim/mutants.h"

namespace holdfast::sim {

const std::vector<MutantInfo>& mutants() {
    static const std::vector<MutantInfo> all{
        {"no_silence", "Q10: an acceptor that lost its memory stays silent", ""},
        {"half_silence", "Q10: for long enough", ""},
        {"replies_counted", "Q4: repliers are counted, not replies", ""},
        {"deadline_from_promise", "Q3: an attempt's time runs from when its Prepare was sent",
         "a promise of a former life is not heard (Q12), and who has lost it takes part in no ballot below its "
         "ceiling"},
        {"ballots_reused", "Q2: the boot number tells the ballots of two lives apart",
         "what the former life has under way with the same ballot is not heard (Q12)"},
        {"token_ceiling_not_durable", "Q11: tokens do not fall when every node restarts", ""},
        {"echo_reused", "Q8: what an abandoned attempt left is not taken for a grant", ""},
        {"ballot_dropped_with_entries", "Q5: the ballot outlives its record", ""},
        {"lower_ballot_accepted", "Q1: an acceptor takes part in nothing older than it promised", ""},
        {"time_diminished", "Q6: remaining times travel undiminished", ""},
        {"holder_counts_from_reply", "T3: a holder counts from when it asked", ""},
        {"release_by_owner_only", "Q9: a release names holder and token", ""},
        {"former_life_heard", "Q12: who has started again does not hear what its former life was told",
         "an acceptor that lost its memory takes part in no ballot below the ceiling it had (Q10)"},
        {"ceiling_not_promised", "Q10: who lost its memory counts every register as promised at its ceiling",
         "it takes ballots far apart, the highest with a single acceptor: nodes that hear of each other have none"},
        {"peer_lives_forgotten", "Q12: the lives of the others are remembered over a restart", ""},
        {"incarnation_ignored+own_lives_not_compared",
         "Q12: two copies of one directory count the same boots, and are told apart", ""},
        {"incarnation_ignored", "Q12: the same, by who meets the copy",
         "a copy that hears of a start that its directory does not have refuses by itself"},
        {"unchosen_read", "Q1: what only a minority has accepted is not told as known", ""},
        {"overlap_not_looked_at_after", "what overlaps is looked at once more after it was taken", ""},
        {"no_wait_die", "G5: of agents who wait for each other, the younger is told to die", ""},
        {"acknowledged_before_durable", "L1: entries are durable on a majority before they are acknowledged", ""},
        {"recovery_skipped", "L1: a new leader completes what a majority had accepted", ""},
        {"promise_not_durable", "L1: a promise is durable before it is answered",
         "whoever led before has ceased by its own clock when another is granted the lease (T3): nobody is left whose "
         "entries would have to be refused"},
    };
    return all;
}

bool set_mutant(std::string_view) {
    return false;
}

}  // namespace holdfast::sim
