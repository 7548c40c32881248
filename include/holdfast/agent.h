#pragma once

#include <holdfast/client.h>
#include <holdfast/export.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holdfast {

/// Where the work on a manifest of intents stands.
///
///     PLANNING ─▶ ACQUIRING ─▶ EXECUTING ─▶ COMPLETED
///        ▲            │ ▲        │   ▲
///        └─told to die┘ │        ▼   │                    and from everywhere ─▶ ABORTED
///                       └─lost─ PAUSED ─▶ VERIFYING
enum class IntentState { planning, acquiring, executing, paused, verifying, completed, aborted };
HOLDFAST_API const char* to_string(IntentState state);  ///< `PLANNING`

/// One step of that, as it is told to the program.
struct Step {
    IntentState from = IntentState::planning;
    IntentState to = IntentState::planning;
    std::optional<Failure> why{};           ///< unless it is the way things should go
    std::chrono::milliseconds retry_in{0};  ///< what comes next comes after so long
};

/// What to do when an older agent is in the way and this one must not wait for it (G5).
enum class OnDie {
    come_back,  ///< let go, stay away as long as told, and ask again in the next life, while there is patience
    leave,      ///< let go and end: a supervisor starts the program again
};

struct WorkOptions {
    /// Zero: the server's default.
    std::chrono::milliseconds ttl{0};
    /// How long it may take to begin, and after each trouble to go on.
    std::chrono::milliseconds patience = std::chrono::minutes{10};
    /// Shown to whoever is refused because of it.
    std::string reason{};
    /// A JSON object as text, or empty.
    std::string metadata{};
    /// Empty: `default`.
    std::string name_space{};
    OnDie on_die = OnDie::come_back;
    /// Ends the work as Agent::stop() does, but this one alone: ABORTED, `cancelled`.
    std::stop_token stop{};
    /// Called for each step, on the thread that performs the work.
    std::function<void(const Step&)> on_step{};
    /// Called on another thread when the lease has become uncertain or is lost: the work should come to Work::go_on()
    /// soon. As Lease::on_lost().
    std::function<void()> on_pause{};
};

/// The work on a manifest, for the program's function that does it. For the thread that does it; held() for any.
class HOLDFAST_API Work {
 public:
    /// To be called between the pieces of the work. True: the lease is held, do the next piece. Returns at once if all
    /// is well. If the lease has become uncertain or is lost, the work pauses in here until the server has said that it
    /// is still there, or it was acquired anew, with a new token. False: it is over, return.
    [[nodiscard]] bool go_on();

    /// True while the piece in hand may go on. As Lease::held().
    [[nodiscard]] bool held() const noexcept;

    /// The fencing token of the first intent: pass it on with every write (G3). A new one after a loss.
    std::uint64_t token() const;
    std::vector<Grant> grants() const;

    /// How far the work has come, for the server's idle detection (R6): a number that rises.
    void progress(std::uint64_t count);

    struct HOLDFAST_INTERNAL Core;
    explicit Work(Core& core) : core_(core) {}
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

 private:
    Core& core_;
};

/// How the work on a manifest ended: COMPLETED, or ABORTED and why.
struct [[nodiscard]] Performed {
    IntentState state = IntentState::aborted;
    std::optional<Failure> why{};  ///< of an abort; none if the program's own function gave up

    explicit operator bool() const { return state == IntentState::completed; }
};

struct AgentOptions {
    /// A timestamp in milliseconds; lower is older and goes first (G5). Default: what it was, else the server's time.
    std::optional<std::int64_t> priority{};
    /// Where the digest is kept: checkpoint, pending intents, priority, epoch. A later life loads it from there. Empty:
    /// nowhere.
    std::string state_file{};
};

/// What an earlier life left behind, by the server's word (R3).
struct LeftBehind {
    std::string lease{};  ///< `resource#token`
    std::string resource{};
    bool active = false;                     ///< false: expired, and reserved for this agent (R5)
    std::chrono::milliseconds remaining{0};  ///< until it ends, or is free for others
};

/// A holder with a place in the order of age, which has lives: an agent that was told to die, was killed or restarts
/// comes back as the same agent in its next epoch, with the same priority, and goes on where it was (G5, R5).
///
/// It works on one manifest at a time: whoever needs more asks for all of it at once, so that nobody waits for it
/// while it waits (G1). All functions may be called from any thread. One that was moved from is refused everything.
class HOLDFAST_API Agent {
 public:
    /// Its id is the client's holder, and what the client asks for from now on, it asks for as this life of the agent.
    explicit Agent(Client client, AgentOptions options = {});
    ~Agent();
    Agent(Agent&&) noexcept;
    Agent& operator=(Agent&&) noexcept;

    /// Begins a life: loads the digest, writes down the next epoch, registers, and finds out what the life before left
    /// behind (R3). perform() does this too, if it was not done, and has more patience. Nothing, or why not: no server,
    /// a digest that cannot be read (`digest_damaged`), one that is in use (`digest_in_use`).
    [[nodiscard]] std::optional<Failure> start();

    const std::string& id() const&;
    std::string id() const&&;
    std::uint64_t epoch() const;    ///< which life this is; 0 before it began
    std::int64_t priority() const;  ///< likewise

    /// What this or an earlier life began and did not finish.
    std::vector<Intent> pending() const;
    /// What is still there of that. The first perform() resumes of it what it asks for, with a new token, and gives the
    /// rest back.
    std::vector<LeftBehind> left_behind() const;

    /// A small text of the program's own, 64 KiB at most, UTF-8. On disk when this returns; nothing, or why not.
    [[nodiscard]] std::optional<Failure> save(std::string checkpoint);
    std::string checkpoint() const;

    /// Acquires all the intents, calls the function, and gives them back. The function returns true if the work is
    /// done, false if it gave up.
    Performed perform(std::vector<Intent> intents, const std::function<bool(Work&)>& function,
                      const WorkOptions& options = {});

    /// DIE_RESTART: this life is about to end and the next one will resume. What it has stays reserved for 15 s past
    /// its expiry; Work::go_on() returns false, and perform() ends without giving anything back (R5).
    [[nodiscard]] std::optional<Failure> declare_restart();

    /// Ends perform(): Work::go_on() returns false, and a wait for a turn is broken off. For good.
    void stop();

    struct HOLDFAST_INTERNAL Core;

 private:
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast
