#include "sim/mutants.h"

namespace holdfast::sim {

const std::vector<MutantInfo>& mutants() {
    static const std::vector<MutantInfo> all{
        {"no_silence", "Q10: an acceptor that lost its memory stays silent", ""},
        {"half_silence", "Q10: for long enough", ""},
        {"replies_counted", "Q4: repliers are counted, not replies", ""},
        {"deadline_from_promise", "Q3: an attempt's time runs from when its Prepare was sent",
         "a promise of a former incarnation is ignored (Q12), and a node that has lost it takes part in no ballot "
         "below its ceiling"},
        {"ballots_reused", "Q2: the boot number distinguishes the ballots of two incarnations",
         "messages of the former incarnation with the same ballot are ignored (Q12)"},
        {"token_ceiling_not_durable", "Q11: tokens do not fall when every node restarts", ""},
        {"echo_reused", "Q8: an entry of an abandoned attempt is not taken for a grant", ""},
        {"ballot_dropped_with_entries", "Q5: the ballot outlives its record", ""},
        {"lower_ballot_accepted", "Q1: an acceptor takes part in nothing older than it promised", ""},
        {"time_diminished", "Q6: remaining times travel undiminished", ""},
        {"holder_counts_from_reply", "T3: a holder counts from when it asked", ""},
        {"release_by_owner_only", "Q9: a release names holder and token", ""},
        {"former_life_heard", "Q12: a restarted node ignores messages for its former incarnation",
         "an acceptor that lost its memory takes part in no ballot below the ceiling it had (Q10)"},
        {"ceiling_not_promised", "Q10: a node that lost its memory counts every register as promised at its ceiling",
         "it takes ballots far apart, the highest with a single acceptor: nodes that communicate have none"},
        {"peer_lives_forgotten", "Q12: the incarnations of the other nodes are kept over a restart", ""},
        {"incarnation_ignored+own_lives_not_compared",
         "Q12: two copies of one directory count the same boots, and are distinguished", ""},
        {"incarnation_ignored", "Q12: the same, by the node that meets the copy",
         "a copy that learns of a start that its directory does not have refuses by itself"},
        {"unchosen_read", "Q1: a value that only a minority has accepted is not reported", ""},
        {"overlap_not_looked_at_after", "overlapping records are read again after a grant", ""},
        {"no_wait_die", "G5: of agents that wait for each other, the younger gets DIE", ""},
        {"acknowledged_before_durable", "L1: entries are durable on a majority before they are acknowledged", ""},
        {"recovery_skipped", "L1: a new leader completes what a majority had accepted", ""},
        {"promise_not_durable", "L1: a promise is durable before it is answered",
         "a former leader has stopped by its own clock when another is granted the lease (T3), so there are no entries "
         "to refuse"},
    };
    return all;
}

bool set_mutant(std::string_view) {
    return false;
}

}  // namespace holdfast::sim
