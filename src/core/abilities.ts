/** Abilities of a model. An absent field means unknown, which differs from `false`. */
export interface Abilities {
  /**
   * `native`: the template has a thinking switch and markers. `prompted`: Parley asks for thinking in a first phase.
   */
  readonly thinking?: 'native' | 'prompted' | false;
  readonly tools?: boolean;
  readonly vision?: boolean;
  readonly audio?: boolean;
  readonly logprobs?: boolean;
  readonly fillInTheMiddle?: boolean;
}
