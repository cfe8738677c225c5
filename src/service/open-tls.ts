import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import type { TlsCredentials } from '../http/http-server.ts';
import { startInterval as systemStartInterval, type StartInterval } from '../lib/start-interval.ts';
import { TLS_FILES_POLL_MS } from './limits.ts';

/** Paths of a certificate chain and its key, in PEM format. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface TlsSource {
  /** The credentials at the start. */
  readonly credentials: TlsCredentials;
  /** Sets the function that receives changed credentials. */
  onChange(apply: (credentials: TlsCredentials) => void): void;
  close(): Promise<void>;
}

export interface TlsDeps {
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly startInterval?: StartInterval;
}

/**
 * Reads a certificate and its key, and then reads them again every TLS_FILES_POLL_MS. Changed files that cannot be used, for
 * example because only one of them is new yet, are logged and otherwise ignored.
 * @throws ServiceError `invalid-request` that names the setting, if the files cannot be used now.
 */
export async function openTls(
  files: TlsFiles,
  { log, startInterval = systemStartInterval }: TlsDeps,
): Promise<TlsSource> {
  const credentials = await readCredentials(files);
  let current = credentials;
  let lastReason: string | undefined;
  let isReading = false;
  let apply: (credentials: TlsCredentials) => void = () => undefined;

  const reload = async (): Promise<void> => {
    if (isReading) return; // the files may be on a slow network
    isReading = true;
    try {
      const next = await readCredentials(files);
      lastReason = undefined;
      if (next.cert === current.cert && next.key === current.key) return;
      apply(next);
      current = next;
      log.info('TLS certificate reloaded', describeCertificate(next));
    } catch (error) {
      const reason = ServiceError.from(error).message;
      if (reason !== lastReason) log.error('TLS certificate not reloaded; the previous one stays in use', { reason });
      lastReason = reason;
    } finally {
      isReading = false;
    }
  };
  log.info('TLS certificate loaded', describeCertificate(credentials));
  const stop = startInterval(TLS_FILES_POLL_MS, () => void reload());
  return {
    credentials,
    onChange: (callback) => void (apply = callback),
    close: async () => stop(),
  };
}

/** Reads both files and checks that they can be used. */
async function readCredentials(files: TlsFiles): Promise<TlsCredentials> {
  const [cert, key] = await Promise.all([readSetting('cert', files.cert), readSetting('key', files.key)]);
  const certificate = attempt(
    'cert',
    `${files.cert} contains no certificate in PEM format`,
    () => new X509Certificate(cert),
  );
  const privateKey = attempt('key', `${files.key} contains no private key in PEM format without a passphrase`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw createTlsError('key', `${files.key} does not belong to the certificate in ${files.cert}`);
  attempt('cert', `${files.cert} and ${files.key} cannot be used`, () => createSecureContext({ cert, key }));
  return { cert, key };
}

const readSetting = (name: keyof TlsFiles, file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    throw createTlsError(name, `cannot read the file ${file}`, error);
  });

function attempt<T>(name: keyof TlsFiles, problem: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw createTlsError(name, problem, error);
  }
}

function createTlsError(name: keyof TlsFiles, problem: string, cause?: unknown): ServiceError {
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return new ServiceError('invalid-request', `tls.${name}: ${problem}${reason}.`, { param: `tls.${name}`, cause });
}

function describeCertificate({ cert }: TlsCredentials) {
  const { subject, validTo, fingerprint256 } = new X509Certificate(cert);
  return { subject, validTo, fingerprint256 };
}
