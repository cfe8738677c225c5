import type { Server } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { Server as SecureServer } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../core/error.ts';
import type { IdGenerator } from '../core/id.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import { createNetworkMatcher } from '../lib/network-matcher.ts';
import { createTokenBucket, type TokenBucket } from '../lib/token-bucket.ts';
import { formatLastResponse } from './format-last-response.ts';
import type { HttpLimits } from './http-limits.ts';
import { ADDRESSES_MAX, ADDRESS_WARNING_MS } from './limits.ts';

export interface AddressLimitsDeps {
  readonly limits: Pick<HttpLimits, 'connectionsPerAddress' | 'refusalsPerAddress'>;
  /** Addresses and networks of proxies, whose connections carry requests of many clients. */
  readonly trustedProxies: readonly string[];
  readonly ids: IdGenerator;
  readonly clock: Clock;
  readonly log: Log;
}

/** Limits what the clients of one address can do without a key. Trusted proxies have no limits. */
export interface AddressLimits {
  /** Counts the connections of a server, and closes those above the limit of their address. */
  watch(server: Server): void;
  /** Counts a request without a valid key, or bytes that are not a request, of the connection's address. */
  countRefusals(socket: Socket): void;
  /** Returns whether the address of the connection has had as many refusals as it may have for now. */
  isAboveRefusalRate(socket: Socket): boolean;
}

interface AddressRecord {
  readonly address: string;
  connectionCount: number;
  /** Created with the first refusal: most addresses have none. */
  refusals: TokenBucket | undefined;
  /** Time of the last warning in the log, in ms of the monotonic clock. */
  warnedAt: number;
}

export function createAddressLimits({ limits, trustedProxies, ids, clock, log }: AddressLimitsDeps): AddressLimits {
  const { connectionsPerAddress, refusalsPerAddress } = limits;
  const isTrustedProxy = createNetworkMatcher(trustedProxies);
  const records = new LRUCache<string, AddressRecord>({ max: ADDRESSES_MAX });
  const recordsBySocket = new WeakMap<Socket, AddressRecord>();

  const findOrCreate = (remoteAddress: string): AddressRecord => {
    const address = groupAddress(remoteAddress);
    let record = records.get(address);
    if (!record) {
      record = { address, connectionCount: 0, refusals: undefined, warnedAt: -Infinity };
      records.set(address, record);
    }
    return record;
  };

  const refuse = (socket: Socket, record: AddressRecord, isSecure: boolean): void => {
    const error = new ServiceError(
      'rate-limited',
      `Your address has reached its limit of ${connectionsPerAddress} open connections. Close some of them, or send several requests over one connection.`,
    );
    // Before the handshake of TLS nothing can be said.
    if (!isSecure)
      socket.write(formatLastResponse({ status: 429, error, headers: 'retry-after: 1\r\n' }, ids.createRequestId()));
    socket.destroySoon();
    if (clock.monotonic() - record.warnedAt < ADDRESS_WARNING_MS) return;
    record.warnedAt = clock.monotonic();
    log.warn('connections refused: too many of one address', { address: record.address, limit: connectionsPerAddress });
  };

  return {
    watch(server) {
      const isSecure = server instanceof SecureServer;
      server.on('connection', (socket) => {
        // The server gets a connection again after it was paused.
        if (recordsBySocket.has(socket)) return;
        const peer = toIpv4(socket.remoteAddress ?? '');
        if (isTrustedProxy(peer)) return;
        const record = findOrCreate(peer);
        if (record.connectionCount >= connectionsPerAddress) return refuse(socket, record, isSecure);
        record.connectionCount += 1;
        recordsBySocket.set(socket, record);
        socket.once('close', () => {
          record.connectionCount -= 1;
        });
      });
      // Requests over TLS name another socket than the connection.
      server.on('secureConnection', (socket: Socket) => {
        const peer = toIpv4(socket.remoteAddress ?? '');
        if (!isTrustedProxy(peer)) recordsBySocket.set(socket, findOrCreate(peer));
      });
    },
    countRefusals(socket) {
      const record = recordsBySocket.get(socket);
      if (!record) return;
      record.refusals ??= createTokenBucket(refusalsPerAddress, clock);
      // Never far below zero: the rate is back soon after an attack.
      record.refusals.consume(Math.min(1, Math.max(0, record.refusals.getLevel())));
    },
    isAboveRefusalRate(socket) {
      const refusals = recordsBySocket.get(socket)?.refusals;
      return refusals !== undefined && refusals.getLevel() < 1;
    },
  };
}

/** Returns the address that limits count for: of an IPv6 address, its /64 network, since a client may use all of that. */
export function groupAddress(remoteAddress: string): string {
  const address = toIpv4(remoteAddress);
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  // The groups that `::` stands for are zero.
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  return [...groups, ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...(tail?.split(':') ?? [])]
    .slice(0, 4)
    .join(':');
}

/** Returns the IPv4 address that an IPv4-mapped IPv6 address stands for. */
const toIpv4 = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');
