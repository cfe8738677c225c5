/** The fetch function that tools depend on. The service passes the guarded fetch of the `net` module. */
export type WebFetch = (url: string, options: WebFetchOptions) => Promise<WebResponse>;

export interface WebFetchOptions {
  /** Limit of the body. Beyond: `too-large`. */
  readonly bytesMax: number;
  readonly accept?: string;
  readonly signal: AbortSignal;
  /** Lower-case names. Sent to the origin of the URL only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends a POST with this body. */
  readonly content?: { readonly type: string; readonly bytes: Uint8Array };
  /** Called with the target of each redirect before the next request. An exception ends the fetch. */
  readonly onRedirect?: (url: string) => Promise<void>;
}

export interface WebResponse {
  readonly status: number;
  /** URL of the response, after redirects. */
  readonly url: string;
  readonly contentType: string;
  /** Returns a header by its lower-case name, or an empty string. */
  getHeader(name: string): string;
  /** A reader that stops early must destroy it, as `for await` does. */
  readonly body: AsyncIterable<Uint8Array> & { destroy(): unknown };
}
