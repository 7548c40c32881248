// A client of one kind of server that does as it is told: orders.h has what it is told and what it answers.

#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/text.h"
#include "holdfast_peer.h"
#include "orders.h"
#include "postgres_peer.h"
#include "redis_peer.h"
#ifdef HOLDFAST_ETCD_PEER
#include "etcd_peer.h"
#endif
#ifdef HOLDFAST_ZOOKEEPER_PEER
#include "zookeeper_peer.h"
#endif

namespace holdfast::bench {
namespace {

using MakePeer = std::function<std::unique_ptr<Peer>(PeerSetting)>;

/// Without a function: it was left out, as its library was not there.
std::map<std::string, MakePeer> kinds() {
    std::map<std::string, MakePeer> all{{"etcd", {}}, {"etcd-shared", {}}, {"zookeeper", {}}};
    all["holdfast"] = holdfast_peer;
    all["redis"] = redis_peer;
    all["postgres"] = postgres_peer;
#ifdef HOLDFAST_ETCD_PEER
    all["etcd"] = etcd_peer;
    all["etcd-shared"] = etcd_shared_peer;
#endif
#ifdef HOLDFAST_ZOOKEEPER_PEER
    all["zookeeper"] = zookeeper_peer;
#endif
    return all;
}

std::vector<std::uint16_t> read_ports(const std::string& list) {
    std::vector<std::uint16_t> ports;
    std::istringstream in(list);
    for (std::string word; std::getline(in, word, ',');) {
        const auto port = parse_number(word);
        if (!port || *port == 0 || *port > 65535) throw std::runtime_error(word + " is not a port");
        ports.push_back(static_cast<std::uint16_t>(*port));
    }
    if (ports.empty() || ports.size() > 16) throw std::runtime_error("there must be 1 to 16 ports");
    return ports;
}

int run(const std::string& kind, const std::string& holder, const std::string& ports) {
    const auto known = kinds();
    const auto found = known.find(kind);
    if (found == known.end()) throw std::runtime_error("there is no kind of server called " + kind);
    if (!found->second)
        throw std::runtime_error(kind + " was left out when this was built, as its client library was not there: " +
                                 "run scripts/setup bench and configure again");
    const auto peer = found->second({holder, read_ports(ports)});
    return serve_orders(*peer, {kind, holder});
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    try {
        if (argc != 4) throw std::runtime_error("peer_client KIND HOLDER PORT,PORT,…");
        return holdfast::bench::run(argv[1], argv[2], argv[3]);
    } catch (const std::exception& error) {
        std::cerr << "peer_client: " << error.what() << '\n';
        return 2;
    }
}
