/** What tools ask of whoever fetches for them: the guarded fetch, which stands in a room beside this one. */
export type WebFetch = (url: string, wish: WebFetchWish) => Promise<WebAnswer>;

export interface WebFetchWish {
  /** Of the body. Beyond: `too-large`. */
  readonly bytesMax: number;
  readonly accept?: string;
  readonly signal: AbortSignal;
  /** Lower-case names; for the origin of the URL alone. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly content?: { readonly type: string; readonly bytes: Uint8Array };
  /** Hears where a redirect leads before anybody is asked there; what it throws ends the fetch. */
  readonly onRedirect?: (url: string) => Promise<void>;
}

export interface WebAnswer {
  readonly status: number;
  /** After redirects. */
  readonly url: string;
  readonly contentType: string;
  /** By its lower-case name, empty where there is none. */
  header(name: string): string;
  /** Whoever leaves it before its end destroys it, as `for await` does. */
  readonly body: AsyncIterable<Uint8Array> & { destroy(): unknown };
}
