import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { ATTACKER_ADDRESS, describeAttacks } from './harness.ts';

// Work that one request or one connection can cause in the service process.

describeAttacks('attacks with many requests', {}, [
  {
    name: '20,000 requests with unknown keys on 20 connections',
    async run({ port, signal }) {
      const head = (index: number): string =>
        `GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer sk-unknown-${index}\r\n\r\n`;
      await Promise.all(
        Array.from({ length: 20 }, async (_, connection) => {
          const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER_ADDRESS });
          signal.addEventListener('abort', () => socket.destroy());
          await once(socket, 'connect');
          let text = '';
          socket.setEncoding('utf8').on('data', (piece: string) => {
            text = (text + piece).slice(-1000);
          });
          // The service may end the connection: what is sent afterwards is lost.
          socket.on('error', () => undefined);
          const closed = new Promise((resolve) => void socket.once('close', resolve));
          for (let index = 0; index < 1000; index += 1) socket.write(head(connection * 1000 + index));
          socket.end();
          await closed;
          // The service may end the connection before its first answer: too many requests wait on it.
          assert.match(text, /^$|HTTP\/1\.1 401 /);
        }),
      );
    },
  },
]);
