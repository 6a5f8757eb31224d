"""Which addresses may be reached: those of the public internet, and what the user has named.

A name is resolved once, every address it has is judged, and the connection goes to one of these
very addresses: a second look-up could answer something else (DNS rebinding).
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import anyio
from attrs import field, frozen

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# IPv6 addresses that carry an IPv4 one: (network, bits behind it).
_CARRIERS = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("::/96"), 0),  # compatible; long out of use, and still understood
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("64:ff9b:1::/48"), 0),
    (IPv6Network("2002::/16"), 80),  # 6to4
)
_NOT_PUBLIC = (
    IPv6Network("fec0::/10"),  # site-local, the forerunner of private
    IPv6Network("2001::/32"),  # Teredo: the inner address is hidden by design
)


class NotAllowed(Exception):
    """An address that must not be reached; the text says which and why."""


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, as the system resolves it. Raises OSError."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


@frozen(kw_only=True)
class Network:
    """What of it may be reached. `allowed` names hosts beside the public ones: `docs.internal`,
    or with a port, `localhost:8000`."""

    allowed: frozenset[str] = frozenset()
    resolve: Resolve = field(default=resolved)

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Where to connect to for this host. Raises `NotAllowed` or OSError."""
        found = await self.resolve(host.strip("[]"), port)
        if not found:
            raise OSError(f"{host} has no address")
        if not self._named(host, port):
            for address in found:
                why = unfit(address)
                if why is not None:
                    raise NotAllowed(_told(host, port, address, why))
        return found

    def _named(self, host: str, port: int) -> bool:
        host = host.strip("[]").rstrip(".").lower()
        return not self.allowed.isdisjoint({host, f"{host}:{port}", f"[{host}]:{port}"})


def unfit(written: str) -> str | None:
    """Why this address is not one of the public internet; None if it is."""
    try:
        address = ip_address(written)
    except ValueError:
        return "no address that can be judged"
    inner = _carried(address)
    if inner is not None:
        return unfit(str(inner))
    kinds = {
        "a loopback address": address.is_loopback,
        "a link-local address, where machines keep their secrets": address.is_link_local,
        "a multicast address": address.is_multicast,
        "an unspecified address": address.is_unspecified,
        "a private address": not address.is_global or _is_in(address, _NOT_PUBLIC),
        "a reserved address": address.is_reserved,
    }
    return next((name for name, holds in kinds.items() if holds), None)


def _carried(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address) or int(address) < 2:  # `::` and `::1` are themselves
        return None
    for network, behind in _CARRIERS:
        if address in network:
            return IPv4Address(int(address) >> behind & 0xFFFFFFFF)
    return None


def _is_in(address: IPv4Address | IPv6Address, networks: Sequence[IPv6Network]) -> bool:
    return isinstance(address, IPv6Address) and any(address in one for one in networks)


def _told(host: str, port: int, address: str, why: str) -> str:
    name = host if host.strip("[]") == address else f"{host} ({address})"
    return (
        f"{name} is {why}, and such hosts are not fetched from. (The user can permit it by"
        f" naming the host in INTERLOCK_WEB_ALLOW: {host}:{port})"
    )
