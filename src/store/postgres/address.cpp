#include "store/postgres/address.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <memory>

namespace holdfast::postgres {
namespace {

using boost::asio::ip::tcp;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (std::size_t comma; (comma = list.find(',', from)) != std::string::npos; from = comma + 1)
        parts.push_back(list.substr(from, comma - from));
    parts.push_back(list.substr(from));
    return parts;
}

void append(std::string& list, const std::string& part) {
    if (!list.empty()) list += ',';
    list += part;
}

/// Goes through the hosts, one after the other; a host with several addresses becomes several.
class Lookup final : public std::enable_shared_from_this<Lookup> {
 public:
    Lookup(boost::asio::io_context& loop, Parameters parameters, std::function<void(Result<Parameters>)> reply)
        : resolver_(loop), parameters_(std::move(parameters)), reply_(std::move(reply)) {
        hosts_ = split(*get("host"));
        if (const std::string* ports = get("port")) ports_ = split(*ports);
    }

    static bool needed(const Parameters& parameters) {
        bool named = false;
        for (const auto& [name, value] : parameters) {
            if (name == "hostaddr" && !value.empty()) return false;
            if (name == "host") named = is_a_name(value);
        }
        return named;
    }

    void next() {
        if (at_ == hosts_.size()) return finish();
        const std::string& host = hosts_[at_];
        resolver_.async_resolve(host, "", [self = shared_from_this()](boost::system::error_code error, auto found) {
            if (error && self->hosts_.size() == 1)
                return self->reply_(Error{"store_unavailable", self->hosts_[0] + ": " + error.message()});
            if (!error) self->take(found);
            ++self->at_;
            self->next();
        });
    }

 private:
    /// Names and addresses, but no folders of sockets, which libpq takes too.
    static bool is_a_name(const std::string& hosts) {
        const auto parts = split(hosts);
        return std::all_of(parts.begin(), parts.end(),
                           [](const std::string& host) { return !host.empty() && host[0] != '/' && host[0] != '@'; });
    }

    const std::string* get(std::string_view wanted) const {
        for (const auto& [name, value] : parameters_)
            if (name == wanted) return &value;
        return nullptr;
    }

    void take(const tcp::resolver::results_type& found) {
        for (const auto& entry : found) {
            append(found_hosts_, hosts_[at_]);
            append(found_addresses_, entry.endpoint().address().to_string());
            if (ports_.size() > 1) append(found_ports_, at_ < ports_.size() ? ports_[at_] : ports_.back());
        }
    }

    void finish() {
        if (found_hosts_.empty())
            return reply_(Error{"store_unavailable", "none of the hosts has an address: " + *get("host")});
        for (auto& [name, value] : parameters_) {
            if (name == "host") value = found_hosts_;
            if (name == "port" && !found_ports_.empty()) value = found_ports_;
        }
        parameters_.emplace_back("hostaddr", found_addresses_);
        reply_(std::move(parameters_));
    }

    tcp::resolver resolver_;
    Parameters parameters_;
    std::function<void(Result<Parameters>)> reply_;
    std::vector<std::string> hosts_, ports_;
    std::string found_hosts_, found_addresses_, found_ports_;
    std::size_t at_ = 0;
};

}  // namespace

void find_addresses(boost::asio::io_context& loop, Parameters parameters,
                    std::function<void(Result<Parameters>)> reply) {
    if (Lookup::needed(parameters))
        return std::make_shared<Lookup>(loop, std::move(parameters), std::move(reply))->next();
    boost::asio::post(loop, [parameters = std::move(parameters), reply = std::move(reply)]() mutable {
        reply(std::move(parameters));
    });
}

}  // namespace holdfast::postgres
