import dgram from 'node:dgram';
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import tls from 'node:tls';

/** What of the runtime's own globals reaches beyond the process. */
const GLOBALS = ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'BroadcastChannel', 'navigator', 'require'];

/** What of `process` does, or leads to what the runtime hides. */
const PROCESS = [
  'binding',
  '_linkedBinding',
  'dlopen',
  'kill',
  'getBuiltinModule',
  'mainModule',
  'loadEnvFile',
  'report',
];

/**
 * Takes the ways to the network out of this process: Node's permissions know nothing of it. This holds against what calls the
 * runtime's functions; it would not hold against native code, of which there is none here.
 */
export function closeNetwork(): void {
  const refuse = (): never => {
    throw new Error('there is no network here');
  };
  const take = (from: object, names: readonly string[]): void => {
    for (const name of names) {
      Object.defineProperty(from, name, { value: refuse, writable: false, configurable: false, enumerable: true });
    }
  };
  take(net.Socket.prototype, ['connect']);
  take(net.Server.prototype, ['listen']);
  take(net, ['connect', 'createConnection', 'createServer']);
  take(tls, ['connect', 'createServer']);
  take(dgram, ['createSocket']);
  take(dgram.Socket.prototype, ['bind', 'connect', 'send']);
  take(dns, ['lookup', 'resolve', 'Resolver']);
  for (const each of [http, https]) take(each, ['request', 'get', 'createServer']);
  syncBuiltinESMExports();
  for (const name of GLOBALS) Reflect.deleteProperty(globalThis, name);
  for (const name of PROCESS) Object.defineProperty(process, name, { value: undefined, configurable: false });
  Object.defineProperty(process, 'env', { value: Object.freeze({}), configurable: false });
}
