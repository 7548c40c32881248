#include "doors/peer/handshake.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/assert.h"
#include "peer.pb.h"

namespace holdfast::doors::peer {
namespace {

struct RefusalTexts {
    std::string_view code, advice;
};

constexpr std::array<RefusalTexts, 9> refusal_texts{{
    {"wrong_secret", "the two have different cluster secrets; give every member the same"},
    {"other_version",
     "the two speak no common version of the peer protocol; upgrade the member with the older program"},
    {"other_members", "the two were started with different members; give every member the same --peers"},
    {"other_longest_ttl", "the two allow different longest TTLs; give every member the same"},
    {"other_rho", "the two assume different clock errors (rho); give every member the same"},
    {"unexpected_node", "another member answers at this address than the one --peers gives it to"},
    {"old_boot",
     "a later start of the refused member is known, so it runs on an earlier copy of its state directory, or beside "
     "another process with its id; stop it and give it the directory that it ran with last (docs/cluster.md)"},
    {"other_directory",
     "a member's state directory is not the one with which it belongs to this cluster, so what it agreed to is lost; "
     "give it back the one it had, or see docs/cluster.md for what to do without"},
    {"old_directory",
     "the member that refuses has found that it runs on an earlier copy of its own state directory: the other knows a "
     "start of it that is not in there; stop it and give it the directory that it ran with last (docs/cluster.md)"},
}};

constexpr std::size_t nonce_bytes = 32;

std::string_view bytes_of(const std::array<char, 4>& number) {
    return {number.data(), number.size()};
}

std::string serialized(const codec::peer::pb::Handshake& step) {
    return step.SerializeAsString();
}

std::vector<store::quorum::LifeMark> lives_in(const codec::peer::pb::Introduction& introduction) {
    std::vector<store::quorum::LifeMark> lives;
    const int count = std::min(introduction.known_boots_size(), introduction.known_incarnations_size());
    for (int member = 0; member < count; ++member)
        lives.push_back({introduction.known_boots(member), introduction.known_incarnations(member)});
    return lives;
}

/// A node that says no oldest version speaks one only.
ProtocolVersions versions_in(const codec::peer::pb::Introduction& introduction) {
    const std::uint32_t newest = introduction.protocol(), oldest = introduction.oldest_protocol();
    return {oldest == 0 ? newest : oldest, newest};
}

std::string text_of(ProtocolVersions versions) {
    return versions.oldest == versions.newest ? fmt::format("{}", versions.newest)
                                              : fmt::format("{} to {}", versions.oldest, versions.newest);
}

/// Keys derived from the cluster secret and both nonces. Only the two ends can derive them.
class Keys {
 public:
    struct Nonces {
        std::string connector, acceptor;
    };
    struct Lives {
        std::string_view connector_id, acceptor_id;
        store::quorum::BootNumber connector_boot = 0, acceptor_boot = 0;
    };

    explicit Keys(std::string_view secret) : hmac_(secret) {}

    Hmac::Digest of(std::string_view purpose, const Nonces& nonces) {
        return hmac_.of({"holdfast peer", purpose, nonces.connector, nonces.acceptor});
    }
    Hmac::Digest of(std::string_view purpose, const Nonces& nonces, const Lives& lives, std::uint32_t version) {
        return hmac_.of({"holdfast peer", purpose, nonces.connector, nonces.acceptor, lives.connector_id,
                         bytes_of(big_endian(lives.connector_boot)), lives.acceptor_id,
                         bytes_of(big_endian(lives.acceptor_boot)), bytes_of(big_endian(version))});
    }

 private:
    Hmac hmac_;
};

}  // namespace

std::optional<std::uint32_t> common_version(ProtocolVersions ours, ProtocolVersions theirs) {
    const std::uint32_t newest = std::min(ours.newest, theirs.newest);
    if (newest < ours.oldest || newest < theirs.oldest) return std::nullopt;
    return newest;
}

std::string_view to_string(Refusal refusal) {
    return refusal_texts[static_cast<std::size_t>(refusal) - 1].code;
}

std::string_view advice(Refusal refusal) {
    return refusal_texts[static_cast<std::size_t>(refusal) - 1].advice;
}

bool needs_repair(Refusal refusal) {
    return refusal == Refusal::old_boot || refusal == Refusal::other_directory || refusal == Refusal::old_directory;
}

std::optional<Refusal> refusal_of(std::uint32_t number) {
    if (number == 0 || number > refusal_texts.size()) return std::nullopt;
    return static_cast<Refusal>(number);
}

struct Handshake::Impl {
    enum class Expects : std::uint8_t { nonce, proof, introduction, welcome };

    Impl(Side side_given, const Terms& terms_given, std::string nonce, Admits admits_given)
        : connects(side_given == Side::connector),
          terms(terms_given),
          keys(terms.secret),
          admits(std::move(admits_given)) {
        HOLDFAST_ASSERT(nonce.size() == nonce_bytes && terms.node < terms.members.size());
        own_nonce() = std::move(nonce);
    }

    std::string& own_nonce() { return connects ? nonces.connector : nonces.acceptor; }
    std::string& peer_nonce() { return connects ? nonces.acceptor : nonces.connector; }

    std::string nonce_frame();
    void on_nonce(const codec::peer::pb::Handshake& step, std::string& out);
    void on_proof(const codec::peer::pb::Handshake& step, std::string& out);
    void on_introduction(const codec::peer::pb::Handshake& step, std::string& out);
    void on_welcome(const codec::peer::pb::Handshake& step);

    std::optional<Refusal> judge(const codec::peer::pb::Introduction& introduction);
    void on_refusal(Refusal why, const codec::peer::pb::Handshake& step);
    std::string own_proof();
    void introduce(std::string& out);
    void write_identity(codec::peer::pb::Introduction& introduction) const;
    void send_sealed(const codec::peer::pb::Handshake& step, std::string& out);
    void refuse(Refusal why, std::string& out);
    void complete();
    void breaks(std::string why) {
        state = State::broken;
        broken = std::move(why);
    }

    const bool connects;
    const Terms& terms;
    Keys keys;
    Admits admits;
    Keys::Nonces nonces;
    Expects expects = Expects::nonce;
    State state = State::under_way;
    std::optional<Sealer> sealer;
    std::optional<Opener> opener;
    std::optional<Life> peer;
    Directories directories;
    ProtocolVersions peer_versions{0, 0};  // zero: it has not said which it speaks
    std::uint32_t version = 0;
    std::optional<Refusal> refusal;
    bool by_peer = false;
    std::string broken;
};

// ---- plain: nonces and proofs ----

std::string Handshake::Impl::nonce_frame() {
    codec::peer::pb::Handshake step;
    step.set_nonce(own_nonce());
    std::string out;
    codec::append_frame(serialized(step), out);
    return out;
}

void Handshake::Impl::on_nonce(const codec::peer::pb::Handshake& step, std::string& out) {
    if (step.nonce().size() != nonce_bytes) return breaks("its nonce is malformed");
    peer_nonce() = step.nonce();
    expects = Expects::proof;
    out += connects ? own_proof() : nonce_frame();
}

std::string Handshake::Impl::own_proof() {
    codec::peer::pb::Handshake step;
    step.set_proof(std::string(view(keys.of(connects ? "connector's proof" : "acceptor's proof", nonces))));
    std::string out;
    codec::append_frame(serialized(step), out);
    return out;
}

void Handshake::Impl::on_proof(const codec::peer::pb::Handshake& step, std::string& out) {
    const auto expected = keys.of(connects ? "acceptor's proof" : "connector's proof", nonces);
    if (!equal_secrets(step.proof(), view(expected))) return refuse(Refusal::wrong_secret, out);
    const auto of_connector = keys.of("connector's introduction", nonces);
    const auto of_acceptor = keys.of("acceptor's introduction", nonces);
    if (!connects) out += own_proof();
    sealer.emplace(view(connects ? of_connector : of_acceptor));
    opener.emplace(view(connects ? of_acceptor : of_connector));
    expects = Expects::introduction;
    if (!connects) introduce(out);
}

// ---- sealed: introductions and the welcome ----

void Handshake::Impl::send_sealed(const codec::peer::pb::Handshake& step, std::string& out) {
    sealer->append(serialized(step), out);
}

void Handshake::Impl::introduce(std::string& out) {
    codec::peer::pb::Handshake step;
    codec::peer::pb::Introduction& introduction = *step.mutable_introduction();
    write_identity(introduction);
    introduction.set_boot(terms.boot);
    for (const std::string& id : terms.members)
        introduction.add_members(id);
    introduction.set_longest_ttl_ns(terms.longest_ttl.count());
    introduction.set_rho(terms.rho);
    if (terms.founders != nullptr) {
        const Directories own = terms.founders->own();
        introduction.set_directory(own.own);
        introduction.mutable_founders()->Assign(own.founders.begin(), own.founders.end());
        introduction.set_incarnation(own.incarnation);
        for (const store::quorum::LifeMark& life : own.lives) {
            introduction.add_known_boots(life.boot);
            introduction.add_known_incarnations(life.incarnation);
        }
    }
    send_sealed(step, out);
}

void Handshake::Impl::write_identity(codec::peer::pb::Introduction& introduction) const {
    introduction.set_id(terms.members[terms.node]);
    introduction.set_protocol(terms.protocol.newest);
    introduction.set_oldest_protocol(terms.protocol.oldest);
}

std::optional<Refusal> Handshake::Impl::judge(const codec::peer::pb::Introduction& introduction) {
    peer_versions = versions_in(introduction);
    const auto common = common_version(terms.protocol, peer_versions);
    if (!common) return Refusal::other_version;
    version = *common;
    if (!std::equal(terms.members.begin(), terms.members.end(), introduction.members().begin(),
                    introduction.members().end()))
        return Refusal::other_members;
    if (introduction.longest_ttl_ns() != terms.longest_ttl.count()) return Refusal::other_longest_ttl;
    if (introduction.rho() != terms.rho) return Refusal::other_rho;
    const auto member = std::find(terms.members.begin(), terms.members.end(), introduction.id());
    const auto index = static_cast<store::quorum::NodeIndex>(member - terms.members.begin());
    if (member == terms.members.end() || index == terms.node) return Refusal::unexpected_node;
    peer = Life{index, introduction.boot()};
    directories = {introduction.directory(),
                   {introduction.founders().begin(), introduction.founders().end()},
                   introduction.incarnation(),
                   lives_in(introduction)};
    return admits(*peer);
}

void Handshake::Impl::on_introduction(const codec::peer::pb::Handshake& step, std::string& out) {
    if (!step.has_introduction()) return breaks("its introduction is missing");
    if (const auto why = judge(step.introduction())) return refuse(*why, out);
    if (connects) {
        introduce(out);
        expects = Expects::welcome;
        return;
    }
    codec::peer::pb::Handshake answer;
    answer.set_welcome(true);
    send_sealed(answer, out);
    complete();
}

void Handshake::Impl::on_welcome(const codec::peer::pb::Handshake& step) {
    if (!step.welcome()) return breaks("its welcome is missing");
    complete();
}

void Handshake::Impl::refuse(Refusal why, std::string& out) {
    codec::peer::pb::Handshake step;
    step.set_refusal(static_cast<std::uint32_t>(why));
    if (sealer) {
        write_identity(*step.mutable_introduction());
        send_sealed(step, out);
    } else {
        codec::append_frame(serialized(step), out);
    }
    state = State::refused;
    refusal = why;
}

/// A peer that refuses before its introduction names itself in the refusal. A refusal with `unexpected_node` is not
/// attributed to the sender: it expected another member at this address and has no complaint about this one.
void Handshake::Impl::on_refusal(Refusal why, const codec::peer::pb::Handshake& step) {
    state = State::refused;
    refusal = why;
    by_peer = true;
    peer_versions = versions_in(step.introduction());
    const auto member = std::find(terms.members.begin(), terms.members.end(), step.introduction().id());
    const auto index = static_cast<store::quorum::NodeIndex>(member - terms.members.begin());
    const bool known = opener && member != terms.members.end() && index != terms.node;
    if (known && !peer && why != Refusal::unexpected_node) peer = Life{index, 0};
}

/// The final keys cover the nonces, ids, boot numbers and the version, so they authenticate the whole exchange.
void Handshake::Impl::complete() {
    const Life own{terms.node, terms.boot};
    const Life& connector = connects ? own : *peer;
    const Life& acceptor = connects ? *peer : own;
    const Keys::Lives lives{terms.members[connector.node], terms.members[acceptor.node], connector.boot, acceptor.boot};
    const auto of_connector = keys.of("connector's frames", nonces, lives, version);
    const auto of_acceptor = keys.of("acceptor's frames", nonces, lives, version);
    sealer.emplace(view(connects ? of_connector : of_acceptor));
    opener.emplace(view(connects ? of_acceptor : of_connector));
    state = State::done;
}

// ---- public interface ----

Handshake::Handshake(Side side, const Terms& terms, std::string nonce, Admits admits)
    : impl_(std::make_unique<Impl>(side, terms, std::move(nonce), std::move(admits))) {}
Handshake::~Handshake() = default;

Handshake::State Handshake::state() const {
    return impl_->state;
}

std::string Handshake::begin() {
    return impl_->connects ? impl_->nonce_frame() : std::string();
}

std::string Handshake::receive(std::string_view body) {
    HOLDFAST_ASSERT(state() == State::under_way);
    std::string out;
    std::string_view content = body;
    if (impl_->opener) {
        const auto opened = impl_->opener->open(body);
        if (!opened) return impl_->breaks("the MAC of a frame does not match"), out;
        content = *opened;
    }
    codec::peer::pb::Handshake step;
    if (content.size() > handshake_frame_bytes ||
        !step.ParseFromArray(content.data(), static_cast<int>(content.size())))
        return impl_->breaks("its message is malformed"), out;
    if (const auto refused = refusal_of(step.refusal())) {
        // A peer that has not proved that it knows the secret may send no other refusal, and cannot fill the log with
        // one.
        if (!impl_->opener && *refused != Refusal::wrong_secret) return impl_->breaks("its message is malformed"), out;
        return impl_->on_refusal(*refused, step), out;
    }
    switch (impl_->expects) {
        case Impl::Expects::nonce:
            impl_->on_nonce(step, out);
            break;
        case Impl::Expects::proof:
            impl_->on_proof(step, out);
            break;
        case Impl::Expects::introduction:
            impl_->on_introduction(step, out);
            break;
        case Impl::Expects::welcome:
            impl_->on_welcome(step);
            break;
    }
    return out;
}

std::optional<Life> Handshake::peer() const {
    return impl_->peer;
}

const Directories& Handshake::directories() const {
    return impl_->directories;
}

Refusal Handshake::refusal() const {
    return impl_->refusal.value();
}

std::uint32_t Handshake::protocol() const {
    HOLDFAST_ASSERT(state() == State::done);
    return impl_->version;
}

std::string Handshake::why_refused() const {
    const ProtocolVersions theirs = impl_->peer_versions;
    std::string why(advice(refusal()));
    if (refusal() != Refusal::other_version || theirs.newest == 0) return why;
    return fmt::format("{} (this node speaks {}, the other {})", why, text_of(impl_->terms.protocol), text_of(theirs));
}

bool Handshake::refused_by_peer() const {
    return impl_->by_peer;
}

const std::string& Handshake::why_broken() const {
    return impl_->broken;
}

Sealer Handshake::take_sealer() {
    HOLDFAST_ASSERT(state() == State::done);
    return std::move(*impl_->sealer);
}

Opener Handshake::take_opener() {
    HOLDFAST_ASSERT(state() == State::done);
    return std::move(*impl_->opener);
}

}  // namespace holdfast::doors::peer
