import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { LogFields } from '../core/telemetry.ts';
import type { TlsCredentials } from '../http/http-server.ts';
import { FIRST_TLS, FIRST_TLS_FILES, SECOND_TLS, SECOND_TLS_FILES } from '../http/__fixtures__/tls-files.ts';
import { openTls } from './open-tls.ts';

describe('the TLS certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
  after(() => rmSync(folder, { recursive: true }));
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };

  const write = ({ cert = FIRST_TLS_FILES.cert, key = FIRST_TLS_FILES.key }: Partial<TlsCredentials>): void => {
    copyFileSync(cert, files.cert);
    copyFileSync(key, files.key);
  };

  /** Opens the certificate; `check` reads the files again and resolves with the messages that this logs. */
  async function openTestTls() {
    const messages: string[] = [];
    const applied: TlsCredentials[] = [];
    const record = (message: string, fields: LogFields = {}): void =>
      void messages.push(`${message} ${String(fields['reason'] ?? fields['subject'])}`);
    let read: () => void = () => undefined;
    let onMessage: () => void = () => undefined;
    const tls = await openTls(files, {
      log: {
        info: (message, fields) => {
          record(message, fields);
          onMessage();
        },
        error: (message, fields) => {
          record(message, fields);
          onMessage();
        },
      },
      startInterval: (_, run) => {
        read = run;
        return () => undefined;
      },
    });
    tls.onChange((credentials) => void applied.push(credentials));
    messages.length = 0;
    return {
      tls,
      messages,
      applied,
      read: () => read(),
      async readUntilMessage(): Promise<string> {
        const logged = new Promise<void>((resolve) => (onMessage = resolve));
        read();
        await logged;
        return messages.splice(0).join();
      },
    };
  }

  it('is replaced when both files have changed, and stays until then', async () => {
    write({});
    const { tls, messages, applied, read, readUntilMessage } = await openTestTls();
    assert.deepEqual(tls.credentials, FIRST_TLS);
    write({ cert: SECOND_TLS_FILES.cert });
    assert.match(
      await readUntilMessage(),
      /not reloaded; the previous one stays in use .* does not belong to the certificate/,
    );
    read(); // logs nothing: the problem is the same
    write(SECOND_TLS_FILES);
    await new Promise(setImmediate);
    assert.match(await readUntilMessage(), /^TLS certificate reloaded CN=second\.parley\.test$/);
    assert.deepEqual(applied, [SECOND_TLS]);
    assert.deepEqual(messages, []);
  });

  it('stays when a new file is broken or missing', async () => {
    write({});
    const { applied, readUntilMessage } = await openTestTls();
    writeFileSync(files.cert, FIRST_TLS.cert.slice(0, 100));
    assert.match(await readUntilMessage(), /not reloaded; .* contains no certificate in PEM format/);
    rmSync(files.key);
    assert.match(await readUntilMessage(), /not reloaded; .* tls\.key: cannot read the file .*ENOENT/);
    assert.deepEqual(applied, []);
  });

  it('is refused at the start with the setting and the reason', async () => {
    const log = { info: () => undefined, error: () => undefined };
    const text = join(folder, 'text');
    writeFileSync(text, 'not PEM');
    for (const [change, param, message] of [
      [{ cert: join(folder, 'none') }, 'tls.cert', /^tls\.cert: cannot read the file .*none \(ENOENT/],
      [{ key: join(folder, 'none') }, 'tls.key', /^tls\.key: cannot read the file .*none \(ENOENT/],
      [{ cert: text }, 'tls.cert', /^tls\.cert: .*text contains no certificate in PEM format/],
      [{ cert: FIRST_TLS_FILES.key }, 'tls.cert', /contains no certificate in PEM format/],
      [{ key: text }, 'tls.key', /^tls\.key: .*text contains no private key in PEM format without a passphrase/],
      [
        { key: SECOND_TLS_FILES.key },
        'tls.key',
        /^tls\.key: .*second-key\.pem does not belong to the certificate in .*first-cert\.pem/,
      ],
    ] as const)
      await assert.rejects(openTls({ ...FIRST_TLS_FILES, ...change }, { log }), {
        kind: 'invalid-request',
        param,
        message,
      });
  });
});
