/** What a model can do. Absent: nobody has said so yet, which is not the same as `false`. */
export interface Abilities {
  /** `native`: the template has a switch and markers. `prompted`: a two-phase thought by our prompt. */
  readonly thinking?: 'native' | 'prompted' | false;
  readonly tools?: boolean;
  readonly vision?: boolean;
  readonly audio?: boolean;
  readonly logprobs?: boolean;
  readonly fillInTheMiddle?: boolean;
}
