import { readFileSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { TlsCredentials } from '../http-server.ts';

// Two self-signed certificates for localhost and 127.0.0.1 that are valid until 2126. Their keys protect nothing.

const getPath = (name: string): string => fileURLToPath(new URL(`./tls/${name}.pem`, import.meta.url));

export const FIRST_TLS_FILES = { cert: getPath('first-cert'), key: getPath('first-key') };
export const SECOND_TLS_FILES = { cert: getPath('second-cert'), key: getPath('second-key') };

const readFiles = ({ cert, key }: TlsCredentials): TlsCredentials => ({
  cert: readFileSync(cert, 'utf8'),
  key: readFileSync(key, 'utf8'),
});

export const FIRST_TLS = readFiles(FIRST_TLS_FILES);
export const SECOND_TLS = readFiles(SECOND_TLS_FILES);

export interface SecureResponse {
  readonly status: number | undefined;
  readonly text: string;
  /** Common name of the server's certificate. */
  readonly certificateName: string | undefined;
}

/** Sends a request on a new connection, and verifies that the server's certificate is one of the two. */
export function sendSecurely(
  url: string,
  { body, onText, ...options }: RequestOptions & { readonly body?: string; readonly onText?: (text: string) => void } = {},
): Promise<SecureResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, ca: [FIRST_TLS.cert, SECOND_TLS.cert], ...options });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const { CN: name } = (response.socket as TLSSocket).getPeerCertificate().subject;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        onText?.(text);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, text, certificateName: [name].flat()[0] }),
      );
    });
    outgoing.end(body);
  });
}
