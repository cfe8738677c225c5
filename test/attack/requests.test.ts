import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { sendAsAttacker } from './attacker-request.ts';
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

describeAttacks('attacks with guessed keys', {}, [
  {
    // No time is measured here: src/resources/keys/authenticate.test.ts shows that the steps are the same.
    name: 'guesses that share from none to all but one of their characters with a valid key, 10 times each',
    async run(target) {
      const guesses = Array.from(target.key, (_, at) => target.key.slice(0, at).padEnd(target.key.length, '-'));
      const answers = new Set<string>();
      for (let round = 0; round < 10; round += 1) {
        for (const key of guesses) {
          const { status, headers, text } = await sendAsAttacker(target, { path: '/v1/models', key });
          const names = Object.keys(headers).toSorted().join();
          answers.add(`${status} ${names} ${text.replaceAll(String(headers['x-request-id']), '')}`);
        }
      }
      assert.equal(answers.size, 1, [...answers].join('\n'));
      assert.match([...answers].join(), /^401 /);
    },
  },
]);

const ORIGIN = 'https://app.example';

/** Origins that resemble the allowed one, or that browsers send for pages without one. */
const OTHER_ORIGINS = [
  'null',
  'https://app.example.attacker.example',
  'https://attacker-app.example',
  'https://app.example:8443',
  'http://app.example',
  'https://APP.example',
  'https://app.example/',
  'https://app.example, https://attacker.example',
  'https://app.example@attacker.example',
  `https://${'a'.repeat(20_000)}.example`,
];

describeAttacks('attacks with origins of web pages', { config: `cors: { origins: ['${ORIGIN}'] }\n` }, [
  {
    name: '10 origins that resemble an allowed one, 50 calls and preflights each',
    async run(target) {
      const call = (origin: string) => sendAsAttacker(target, { path: '/v1/models', headers: { origin } });
      const askBefore = (origin: string) =>
        sendAsAttacker(target, {
          path: '/v1/chat/completions',
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'POST' },
        });
      for (let round = 0; round < 50; round += 1) {
        for (const origin of OTHER_ORIGINS) {
          const responses = await Promise.all([call(origin), askBefore(origin)]);
          assert.deepEqual(
            responses.map(({ status }) => status),
            [200, 403],
            origin.slice(0, 100),
          );
          for (const { headers } of responses) {
            assert.equal(headers['vary'], 'Origin');
            assert.deepEqual(
              Object.keys(headers).filter((name) => name.startsWith('access-control-')),
              [],
            );
          }
        }
      }
      for (const { headers } of await Promise.all([call(ORIGIN), askBefore(ORIGIN)])) {
        assert.equal(headers['access-control-allow-origin'], ORIGIN);
        assert.equal(headers['access-control-allow-credentials'], undefined);
      }
    },
  },
]);
