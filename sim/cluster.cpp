#include "sim/cluster.h"

#include <algorithm>

namespace holdfast::sim {

Cluster::Cluster(Parts parts) : parts_(parts), dice_(Dice::part(parts.scenario.seed, 2)) {
    for (unsigned index = 0; index < parts_.scenario.nodes; ++index)
        nodes_.push_back(std::make_unique<Node>(Node::Parts{
            index, parts_.scenario, parts_.events, parts_.network, parts_.trace, parts_.log_checker,
            [this](store::quorum::Envelope envelope) { carry(std::move(envelope)); },
            [this, index](unsigned to, consensus::LogMessage message) { carry_log(index, to, std::move(message)); },
            [this](unsigned node) { started(node); }}));
    for (const auto& node : nodes_)
        node->start();
    for (const Fault& fault : parts_.scenario.faults)
        parts_.events.at(TrueInstant{fault.at}, [this, &fault] { begin(fault); });
}

void Cluster::begin(const Fault& fault) {
    parts_.trace.note(parts_.events.now(), "fault", describe(fault));
    Node& node = *nodes_[fault.node];
    std::vector<std::pair<unsigned, unsigned>> links;
    switch (fault.kind) {
        case FaultKind::crash:
        case FaultKind::reboot:
            if (!node.alive()) return;
            node.crash(fault.kind == FaultKind::reboot);
            ++counts_.restarts;
            return restart_later(fault.node, fault.lasts);
        case FaultKind::power_cut:
            for (const auto& each : nodes_)
                each->crash(true);
            counts_.restarts += nodes_.size();
            for (unsigned index = 0; index < size(); ++index)
                restart_later(index, dice_.between(1ms, fault.lasts));
            return;
        case FaultKind::stop:
            if (!node.alive()) return;
            node.stop(fault.lasts);
            ++counts_.clean;
            return gone(fault.node);
        case FaultKind::put_back:
            if (!node.alive()) return;
            node.stop(dice_.between(10ms, 300ms));  // which leaves a copy
            ++counts_.clean;
            gone(fault.node);
            for (unsigned other = 0; other < size(); ++other)
                if (other != fault.other) links.insert(links.end(), {{fault.other, other}, {other, fault.other}});
            cut_between(links, fault.lasts);
            return parts_.events.after(fault.lasts, [this, which = fault.node] { put_back(which); });
        case FaultKind::pause:
            return node.pause_for(fault.lasts);
        case FaultKind::cut:
            return cut_between({{fault.node, fault.other}}, fault.lasts);
        case FaultKind::isolate:
            for (unsigned other = 0; other < size(); ++other)
                if (other != fault.node) links.insert(links.end(), {{fault.node, other}, {other, fault.node}});
            return cut_between(links, fault.lasts);
        case FaultKind::split:
            for (unsigned a = 0; a < size(); ++a)
                for (unsigned b = 0; b < size(); ++b)
                    if ((fault.other >> a & 1U) != (fault.other >> b & 1U)) links.emplace_back(a, b);
            return cut_between(links, fault.lasts);
        case FaultKind::stall:
            return node.disk().stall_for(fault.lasts);
        case FaultKind::fail:
            return node.disk().fail_for(fault.lasts);
        case FaultKind::storm:
            parts_.network.begin_storm();
            return parts_.events.after(fault.lasts, [this] { parts_.network.end_storm(); });
    }
}

/// The others stop cleanly and restart: they keep what they agreed to, and know their peers only from their disks. A
/// majority keeps its own directories: copies of a majority cannot be noticed (docs/cluster.md).
void Cluster::put_back(unsigned node) {
    const auto copies = std::ranges::count_if(nodes_, [](const auto& each) { return each->runs_on_copy(); });
    if (calm_ || 2 * (static_cast<std::size_t>(copies) + 1) > size() || !nodes_[node]->put_back_copy()) return;
    ++counts_.copies;
    for (unsigned other = 0; other < size(); ++other) {
        if (other == node || !nodes_[other]->alive()) continue;
        nodes_[other]->stop(dice_.between(10ms, 500ms));
        gone(other);
    }
    restart_later(node, dice_.between(500ms, 1s));
}

void Cluster::restart_later(unsigned node, Duration down) {
    gone(node);
    parts_.events.after(down, [this, node] { nodes_[node]->start(); });
}

void Cluster::cut_between(const std::vector<std::pair<unsigned, unsigned>>& links, Duration lasts) {
    ++counts_.partitions;
    for (const auto& [from, to] : links)
        parts_.network.cut(from, to);
    parts_.events.after(lasts, [this, links] {
        for (const auto& [from, to] : links)
            parts_.network.heal(from, to);
    });
}

void Cluster::carry(store::quorum::Envelope envelope) {
    ++counts_.messages;
    const unsigned from = envelope.from;
    const unsigned to = envelope.to;
    const store::quorum::LifeMark life = nodes_[from]->life();
    parts_.network.carry(from, to, Network::Doubles::sometimes, [this, from, to, life, envelope = std::move(envelope)] {
        const bool past = envelope.to_boot != nodes_[to]->boot() || envelope.from_boot != nodes_[envelope.from]->boot();
        if (past && nodes_[to]->alive()) ++counts_.past_restart;
        if (nodes_[to]->hears(from, life)) nodes_[to]->receive(envelope);
    });
}

/// Messages of the log survive restarts of both ends, since its state is durable. Requests of clients are sent once.
void Cluster::carry_log(unsigned from, unsigned to, consensus::LogMessage message) {
    ++counts_.messages;
    ++counts_.log_messages;
    const bool once = std::holds_alternative<consensus::LogSubmit>(message);
    parts_.network.carry(from, to, once ? Network::Doubles::never : Network::Doubles::sometimes,
                         [this, from, to, life = nodes_[from]->life(), message = std::move(message)] {
                             if (nodes_[to]->hears(from, life)) nodes_[to]->receive_log(from, message);
                         });
}

/// Nodes that are up meet each other, each after a delay of its own.
void Cluster::started(unsigned node) {
    for (unsigned other = 0; other < size(); ++other) {
        if (other == node || !nodes_[other]->alive()) continue;
        introduce(node, other);
        introduce(other, node);
    }
}

void Cluster::introduce(unsigned to, unsigned whom) {
    const Duration delay = dice_.chance(calm_ ? 0.0 : 0.1) ? dice_.between(100ms, 3s) : dice_.between(100us, 50ms);
    parts_.events.after(delay, [this, to, whom, boot = nodes_[whom]->boot()] {
        // A node that has restarted since is introduced again.
        if (nodes_[whom]->boot() != boot || !nodes_[whom]->alive() || !nodes_[to]->alive()) return;
        Node::Introduction said = nodes_[whom]->introduction();
        if (nodes_[to]->admits(whom, said) && nodes_[whom]->admits(to, nodes_[to]->introduction()))
            return nodes_[to]->meet(whom, std::move(said));
        ++counts_.refused;
        parts_.trace.note(parts_.events.now(), nodes_[to]->name(), "does not talk to node ", whom);
    });
}

/// Some nodes notice that a node is gone before it is back, and some do not.
void Cluster::gone(unsigned node) {
    for (unsigned other = 0; other < size(); ++other) {
        if (other == node || dice_.chance(0.5)) continue;
        parts_.events.after(dice_.between(1ms, 500ms), [this, other, node, boot = nodes_[node]->boot()] {
            if (!nodes_[node]->alive() && nodes_[node]->boot() == boot) nodes_[other]->part(node);
        });
    }
}

void Cluster::calm_down() {
    calm_ = true;
    parts_.network.calm_down();
    for (const auto& node : nodes_) {
        node->disk().mend();
        node->give_back();
        if (!node->alive()) node->start();
    }
}

void Cluster::close() {
    for (const auto& node : nodes_)
        node->close();
}

}  // namespace holdfast::sim
