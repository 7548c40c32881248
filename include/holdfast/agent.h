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

/// The state of the work on a manifest of intents.
///
///     PLANNING ─▶ ACQUIRING ─▶ EXECUTING ─▶ COMPLETED
///        ▲            │ ▲        │   ▲
///        └────DIE─────┘ │        ▼   │                    and from everywhere ─▶ ABORTED
///                       └─lost─ PAUSED ─▶ VERIFYING
enum class IntentState { planning, acquiring, executing, paused, verifying, completed, aborted };
HOLDFAST_API const char* to_string(IntentState state);  ///< `PLANNING`

/// One state transition, as reported to the program.
struct Step {
    IntentState from = IntentState::planning;
    IntentState to = IntentState::planning;
    std::optional<Failure> why{};           ///< none if the step is the normal course
    std::chrono::milliseconds retry_in{0};  ///< delay before the next action
};

/// What to do when an older agent holds the resource and this one must not wait for it (G5).
enum class OnDie {
    come_back,  ///< release everything, back off as the server says, and ask again in the next epoch, until patience
                ///< runs out
    leave,      ///< release everything and end: a supervisor restarts the program
};

struct WorkOptions {
    /// Zero: the server's default.
    std::chrono::milliseconds ttl{0};
    /// The limit on the time to the first grant, and on the time to resume after each interruption.
    std::chrono::milliseconds patience = std::chrono::minutes{10};
    /// Shown to requesters that are refused because of this lease.
    std::string reason{};
    /// A JSON object as text, or empty.
    std::string metadata{};
    /// Empty: `default`.
    std::string name_space{};
    OnDie on_die = OnDie::come_back;
    /// Ends this work only, in the way that Agent::stop() does: ABORTED, `cancelled`.
    std::stop_token stop{};
    /// Called for each step, on the thread that performs the work.
    std::function<void(const Step&)> on_step{};
    /// Called on another thread when the lease has become uncertain or is lost: the work should call Work::go_on()
    /// soon. The rules of Lease::on_lost() apply.
    std::function<void()> on_pause{};
};

/// The work on a manifest, as passed to the program's function. Only the thread that runs the function may use it;
/// held() may be called from any thread.
class HOLDFAST_API Work {
 public:
    /// Call it between the pieces of the work. True: the lease is held, do the next piece. False: the work is over,
    /// return. Returns at once if the lease is held and certain. If the lease has become uncertain or is lost, the call
    /// blocks until the server has confirmed the lease, it was acquired again with a new token, or the work is over.
    [[nodiscard]] bool go_on();

    /// True while the current piece may continue. As Lease::held().
    [[nodiscard]] bool held() const noexcept;

    /// The fencing token of the first intent: pass it on with every write (G3). It changes after a loss.
    std::uint64_t token() const;
    std::vector<Grant> grants() const;

    /// Reports the progress of the work, for the server's idle detection (R6): a number that rises.
    void progress(std::uint64_t count);

    struct HOLDFAST_INTERNAL Core;
    explicit Work(Core& core) : core_(core) {}
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

 private:
    Core& core_;
};

/// The result of the work on a manifest: COMPLETED, or ABORTED with the reason.
struct [[nodiscard]] Performed {
    IntentState state = IntentState::aborted;
    std::optional<Failure> why{};  ///< the reason of an abort; none if the program's own function gave up

    explicit operator bool() const { return state == IntentState::completed; }
};

struct AgentOptions {
    /// A timestamp in milliseconds; lower is older and goes first (G5). Default: the agent's earlier priority; for a
    /// new agent the server's time.
    std::optional<std::int64_t> priority{};
    /// The file of the digest: checkpoint, pending intents, priority, epoch. A later incarnation loads it from there.
    /// Empty: the digest is not saved.
    std::string state_file{};
};

/// A lease that an earlier incarnation left behind, as the server reports it (R3).
struct LeftBehind {
    std::string lease{};  ///< `resource#token`
    std::string resource{};
    bool active = false;                     ///< false: expired, and reserved for this agent (R5)
    std::chrono::milliseconds remaining{0};  ///< until it ends, or is free for others
};

/// A holder with a priority by age, which survives restarts: an agent that got DIE, was killed or restarts comes back
/// as the same agent in its next epoch, with the same priority, and resumes its work (G5, R5).
///
/// It works on one manifest at a time: a program that needs more asks for all of it at once, so that it never holds one
/// resource while it waits for another (G1). All functions may be called from any thread. A moved-from agent is refused
/// everything.
class HOLDFAST_API Agent {
 public:
    /// The agent's id is the client's holder. From now on the client's requests carry this agent's epoch.
    explicit Agent(Client client, AgentOptions options = {});
    ~Agent();
    Agent(Agent&&) noexcept;
    Agent& operator=(Agent&&) noexcept;

    /// Begins an incarnation: loads the digest, saves the next epoch, registers, and asks the server which leases the
    /// previous incarnation left behind (R3). perform() does this too if it was not done, and retries until its
    /// patience runs out. Returns nothing on success, otherwise the failure: no server, a digest that cannot be read
    /// (`digest_damaged`), a digest that another process uses (`digest_in_use`).
    [[nodiscard]] std::optional<Failure> start();

    const std::string& id() const&;
    std::string id() const&&;
    /// The number of this incarnation. Before start(): that of the last agent which the client carried, or 0.
    std::uint64_t epoch() const;
    std::int64_t priority() const;  ///< 0 before start()

    /// The intents that this or an earlier incarnation began and did not finish.
    std::vector<Intent> pending() const;
    /// The leases that earlier incarnations left behind and that still exist. The first perform() resumes those that
    /// its intents ask for, with new tokens, and releases the rest.
    std::vector<LeftBehind> left_behind() const;

    /// Saves a text of the program's own: UTF-8, at most 64 KiB. It is on disk when this returns. Returns nothing on
    /// success, otherwise the failure.
    [[nodiscard]] std::optional<Failure> save(std::string checkpoint);
    std::string checkpoint() const;

    /// Acquires all the intents, calls the function, and releases them. The function returns true if the work is done,
    /// false if it gave up.
    Performed perform(std::vector<Intent> intents, const std::function<bool(Work&)>& function,
                      const WorkOptions& options = {});

    /// DIE_RESTART: this incarnation is about to end and the next one will resume. Its leases stay reserved for 15 s
    /// past their expiry; Work::go_on() returns false, and perform() ends without releasing anything (R5).
    [[nodiscard]] std::optional<Failure> declare_restart();

    /// Ends perform(): Work::go_on() returns false, and a wait for a turn is cancelled. Cannot be undone.
    void stop();

    struct HOLDFAST_INTERNAL Core;

 private:
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast
