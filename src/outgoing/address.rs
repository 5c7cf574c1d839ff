//! Decides which addresses are on the public internet and may be contacted.
//!
//! Tenants configure addresses that this service connects to, such as those of their identity
//! providers: without this check, tenants could reach internal addresses through it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// IPv4 networks that are not public: the first address and the prefix length (the registry of RFC
/// 6890).
const SPECIAL_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),            // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // shared behind carriers; metadata at Alibaba
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // this machine
    (Ipv4Addr::new(168, 63, 129, 16), 32), // the channel by which Azure configures its machines
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // this link; metadata at most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocols; metadata at Oracle
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // examples
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // relays to IPv6
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // examples
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // examples
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // many at once
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, and everyone at once
];

/// The part of IPv6 assigned to the public internet, and the exceptions within it.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const SPECIAL_V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocols; Teredo, which hides IPv4
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // examples
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, which hides IPv4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // examples
];

/// In this network the last four bytes are an IPv4 address (RFC 6052), so that networks without
/// IPv4 reach it.
const TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Whether a name is never on the public internet, whatever it resolves to (RFC 6761, RFC 6762, RFC
/// 8375, and names used by clouds).
pub fn is_local_name(host: &Host<&str>) -> bool {
    const LOCAL: &[&str] = &["localhost", "localdomain", "local", "internal", "home.arpa"];
    const HERE: &[&str] = &["ip6-localhost", "ip6-loopback"];
    let Host::Domain(name) = host else {
        return false;
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_below = |zone: &&str| {
        let rest = name.strip_suffix(*zone);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    HERE.contains(&&*name) || LOCAL.iter().any(is_below)
}

/// Whether an address is on the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| is_in_v4(address, *network)),
        IpAddr::V6(address) if is_in_v6(address, TRANSLATED) => {
            let [.., a, b, c, d] = address.octets();
            is_public(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
        }
        IpAddr::V6(address) => {
            is_in_v6(address, GLOBAL_V6)
                && !SPECIAL_V6.iter().any(|network| is_in_v6(address, *network))
        }
    }
}

fn is_in_v4(address: Ipv4Addr, (network, bits): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (u32::BITS - bits) == 0
}

fn is_in_v6(address: Ipv6Addr, (network, bits): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (u128::BITS - bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[&str], expected: bool) {
        for address in addresses {
            let parsed = address.parse().expect("an address");
            assert_eq!(is_public(parsed), expected, "{address}");
        }
    }

    #[test]
    fn the_public_internet_may_be_asked() {
        check(
            &[
                "1.1.1.1",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.1",
                "168.63.129.15",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
                "2606:4700:4700::1111",
                "2a00:1450:4001:82a::200e",
                // The same IPv4 addresses, as IPv6 writes and translates them.
                "::ffff:1.1.1.1",
                "64:ff9b::1.1.1.1",
            ],
            true,
        );
    }

    #[test]
    fn what_only_some_can_reach_may_not() {
        check(
            &[
                "0.0.0.0",
                "0.1.2.3",
                "10.0.0.1",
                "10.255.255.255",
                "100.64.0.1",
                "100.100.100.200",
                "100.127.255.255",
                "127.0.0.1",
                "127.255.255.254",
                "168.63.129.16",
                "169.254.0.1",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.0.0.192",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.1.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.1",
                "203.0.113.1",
                "224.0.0.1",
                "239.255.255.255",
                "240.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "::127.0.0.1",
                "::1.1.1.1",
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "::ffff:169.254.169.254",
                "::ffff:0:127.0.0.1",
                "64:ff9b::127.0.0.1",
                "64:ff9b::10.1.2.3",
                "64:ff9b:1::1.1.1.1",
                "100::1",
                "2001::1",
                "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                "2001:db8::1",
                "2002:7f00:1::",
                "2002:a00:1::1",
                "3fff::1",
                "4000::1",
                "5f00::1",
                "fc00::1",
                "fd00:ec2::254",
                "fe80::1",
                "fec0::1",
                "ff02::1",
            ],
            false,
        );
    }
}
