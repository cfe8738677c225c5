/** Reports whether a sentence is only understandable after the sentence before it. */
export const dependsOnPrevious = (sentence: string): boolean =>
  DEPENDENT_START.test(sentence) || DEPENDENT_START_ZH.test(sentence);

const DEPENDENT_START =
  /^["'“(]?(?:it|its|this|that|these|those|they|their|them|he|she|his|her|such|both|there|then|however|also|moreover|furthermore|additionally|therefore|thus|hence|so|but|and|or|nor|otherwise|instead|similarly|likewise|meanwhile|finally|lastly|next|first(?:ly)?|second(?:ly)?|third(?:ly)?|for (?:example|instance|this|that|these)|in (?:addition|this|these|that|those|contrast|fact|particular|other words|such)|as (?:a result|such|an example)|consequently|accordingly|yet|still|nevertheless|nonetheless|because of this|with this|by doing|at this|at that|after that|after this|before that|doing so|the (?:former|latter|same|other|rest|second|third|first|result|resulting|returned|reason)|another|other|others|one of (?:them|these)|each of (?:them|these)|all of (?:them|these)|most of (?:them|these)|either|neither|again|on the other hand|that's|it's|there's|they're|(?:if|when|where|unless|once|because|since) (?:it|this|that|they|these|those|he|she|not)|if (?:any|so))\b/i;

const DEPENDENT_START_ZH =
  /^[“「『（]?(?:它|这|该|此|其|他|她|但|然而|因此|所以|此外|另外|同时|不过|而且|并且|例如|比如|于是|另一方面|总之|上述|以上|前者|后者|随后|然后|接着|由此|从而|其中|如果这)/;
