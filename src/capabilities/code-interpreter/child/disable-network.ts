import dgram from 'node:dgram';
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import tls from 'node:tls';

/** Globals of the runtime that reach beyond the process. */
const NETWORK_GLOBALS = [
  'fetch',
  'WebSocket',
  'EventSource',
  'XMLHttpRequest',
  'BroadcastChannel',
  'navigator',
  'require',
];

/** Members of `process` that reach beyond it, or lead to internals of the runtime. */
const PROCESS_MEMBERS = [
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
 * Disables the network functions of this process, which Node's permissions do not cover. This stops JavaScript that
 * calls these functions; it would not stop native code, but there is none in this process.
 */
export function disableNetwork(): void {
  const throwNoNetwork = (): never => {
    throw new Error('there is no network here');
  };
  const replaceFunctions = (from: object, names: readonly string[]): void => {
    for (const name of names) {
      Object.defineProperty(from, name, {
        value: throwNoNetwork,
        writable: false,
        configurable: false,
        enumerable: true,
      });
    }
  };
  replaceFunctions(net.Socket.prototype, ['connect']);
  replaceFunctions(net.Server.prototype, ['listen']);
  replaceFunctions(net, ['connect', 'createConnection', 'createServer']);
  replaceFunctions(tls, ['connect', 'createServer']);
  replaceFunctions(dgram, ['createSocket']);
  replaceFunctions(dgram.Socket.prototype, ['bind', 'connect', 'send']);
  replaceFunctions(dns, ['lookup', 'resolve', 'Resolver']);
  for (const each of [http, https]) replaceFunctions(each, ['request', 'get', 'createServer']);
  syncBuiltinESMExports();
  for (const name of NETWORK_GLOBALS) Reflect.deleteProperty(globalThis, name);
  for (const name of PROCESS_MEMBERS) Object.defineProperty(process, name, { value: undefined, configurable: false });
  Object.defineProperty(process, 'env', { value: Object.freeze({}), configurable: false });
}
