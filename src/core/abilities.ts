/** Abilities of a model. An absent field means unknown, which differs from `false`. */
export interface Abilities {
  /**
   * `native`: the template has a thinking switch and markers. `prompted`: Parley asks for thinking in a first phase.
   */
  readonly thinking?: 'native' | 'prompted' | false;
  readonly tools?: boolean;
  /**
   * How a model writes tool calls whose answers Parley parses. `native`: as its template writes them. `described`: its
   * template has no tools, so Parley describes them and a format of its own. `unknown`: its template writes them in a
   * format that Parley cannot read, so calls may arrive as text.
   */
  readonly toolCalls?: 'native' | 'described' | 'unknown';
  readonly vision?: boolean;
  readonly audio?: boolean;
  readonly logprobs?: boolean;
  readonly fillInTheMiddle?: boolean;
}
