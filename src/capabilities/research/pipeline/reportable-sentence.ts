import { RESEARCH_SENTENCE_CHARS_MAX } from './limits.ts';
import { isUnspaced } from '../../../generation/citations/claims.ts';
import { splitSentences, addCitationMark } from './sentences.ts';

/**
 * Reports whether a sentence can stand in a report: one complete plain statement. Excludes menu entries, code,
 * addresses, questions and references to another part of the page.
 */
export function isReportable(sentence: string): boolean {
  const isUnspacedText = isUnspaced(sentence);
  const [charactersMin, charactersMax] = isUnspacedText
    ? [12, RESEARCH_SENTENCE_CHARS_MAX / 2]
    : [32, RESEARCH_SENTENCE_CHARS_MAX];
  if (sentence.length < charactersMin || sentence.length > charactersMax) return false;
  if (!SENTENCE_START.test(sentence) || !SENTENCE_END.test(sentence) || !isSingleSentence(sentence)) return false;
  if (NON_PROSE.test(sentence) || PAGE_REFERENCE.test(sentence) || PAGE_REFERENCE_ZH.test(sentence)) return false;
  if (MODEL_INSTRUCTION.test(sentence)) return false;
  if (!hasBalancedBrackets(sentence)) return false;
  return isUnspacedText || (isProse(sentence) && isStatement(sentence));
}

/** The sentence must not split in two when its citation mark is inserted. */
const isSingleSentence = (sentence: string): boolean => splitSentences(addCitationMark(sentence, 1)).length === 1;

const SENTENCE_START = /^["'“‘«「『(（]?[\p{Lu}\p{Lo}\p{N}]/u;
const SENTENCE_END = /(?<![.…])[.。]["'”’»」』)）]?$/;

/** Characters of code and markup, addresses, calls, paths, options, and version strings. */
const NON_PROSE =
  /[`|{}<>=\\^~#*[\]$•→←↑↓✓✗©®™]|https?:|www\.|\/\/|@[\w/]|\w\(\w*\)|\(\)|--\w|(?<!\w)\.{1,2}\/|\w\/\w+\/\w|;\s*\w+;|:\s*:|\.\.\.|…|\p{Extended_Pictographic}(?<!\p{N})|\w_\w+_|['"]\s*[,:]\s*['"]|(?:\d[\d.,]*\s+){4}/u;

/** Phrases that only make sense on their page, or state nothing. */
const PAGE_REFERENCE =
  /\b(?:below|above|following|as follows|see also|click|check out|read more|learn more|sign (?:in|up)|subscribe|cookies?|this (?:section|page|document|readme|guide|article|table|figure|example|tutorial|chapter|post|repo|repository|file|issue|list)|(?:these|those) (?:docs|examples|options)|here (?:is|are)|next section|table of contents|changelog|pull requests?|github issues?|copyright|all rights reserved|licensed? under|(?:MIT|ISC|BSD|Apache)[- ](?:\d\S* )?licen[sc]ed?|npm install|contribut(?:e|ing|ors|ions?)|sponsors?|thanks? (?:to|you|for)|please|stack ?overflow|discord|twitter)\b|^(?:see|note that|note|for (?:more|further|detailed|full) (?:information|details|documentation)|to (?:install|run|build|start|use) |let's|let us|feel free|want to|if you(?:'re| are)|you(?:'ll| will)? need to|install |run |clone |import |add |try |make sure|be sure|don't|do not |today we|in this )/i;

/** Instructions to a model that reads the page. A report would pass them on to models that read the report. */
const MODEL_INSTRUCTION =
  /\b(?:ignor|disregard|forget|overrid)(?:e|ing|s)?\b.{0,40}\b(?:instructions?|prompts?|rules|guidelines)\b|\bsystem prompt\b|\byou are (?:now )?(?:an? )?(?:AI|assistant|chatbot|(?:large )?language model)\b|(?:忽略|无视|忘记).{0,12}(?:指令|指示|提示词)|系统提示词/i;

const PAGE_REFERENCE_ZH =
  /如下|下面|上面|下文|上文|下图|上图|下表|如图|见图|见表|本文|本页|本节|本章|本站|点击|登录|注册|版权|转载|扫码|关注我们|阅读全文|更多内容|责任编辑|查看/;

/** Every opened bracket and double quote is closed. */
function hasBalancedBrackets(sentence: string): boolean {
  let depth = 0;
  for (const sign of sentence.match(/[()（）“”]/g) ?? []) {
    depth += /[(（“]/.test(sign) ? 1 : -1;
    if (depth < 0) return false;
  }
  return depth === 0 && (sentence.match(/"/g)?.length ?? 0) % 2 === 0;
}

/** For scripts with spaces: enough words, mostly letters, and few capitalized words and numbers. */
function isProse(sentence: string): boolean {
  const words = sentence.split(/\s+/);
  if (words.length < WORDS_MIN) return false;
  const letters = sentence.match(/\p{L}/gu)?.length ?? 0;
  const characters = sentence.replaceAll(/\s/g, '').length;
  const capitals = words.filter((word) => /^["'“(]?\p{Lu}/u.test(word)).length;
  const numbers = words.filter((word) => /\p{N}/u.test(word)).length;
  const isLatin = /^[\p{ASCII}\p{Script=Latin}\p{P}]+$/u.test(sentence);
  return (
    letters >= 0.75 * characters &&
    capitals <= 0.5 * words.length &&
    numbers <= 0.35 * words.length &&
    (!isLatin || words.filter((word) => FUNCTION_WORD.test(word)).length >= 2)
  );
}

const WORDS_MIN = 6;

/** For English: the sentence has a subject and a verb. Entries of reference pages lack one of them. */
function isStatement(sentence: string): boolean {
  if (!/\b(?:the|of|and|to|is|in|for|with|a)\b/.test(sentence)) return true;
  return (
    !LIST_ENTRY.test(sentence) &&
    !LABELED_ENTRY.test(sentence) &&
    (VERB.test(sentence) || sentence.split(' ').length > LIST_ENTRY_WORDS_MAX)
  );
}

/** Words of a reference entry. A longer sentence has a verb, even if not one of `VERB`. */
const LIST_ENTRY_WORDS_MAX = 11;

/** Entries of page lists, such as `Routes: Details how routes are registered.` */
const LABELED_ENTRY =
  /^["'“(]?[^\s:]+(?: [^\s:]+){0,4}: \p{Lu}\p{Ll}+s (?!(?:is|are|was|were|has|have|had|can|may|will|must)\b)/u;

const LIST_ENTRY =
  /^["'“(]?(?:no\.|default\b|options?\b:|example\b|warning\b|optional\b|required\b|deprecated\b|useful\b|only\b|can\b|may\b|must\b|should\b|used\b|set\b|get\b|gets\b|sets\b|use\b|create\b|start\b|stop\b|register\b|deregister\b|return\b|read\b|check\b|find\b|call\b|pass\b|enable\b|disable\b|specify\b|define\b|provide\b|remove\b|write\b|keep\b|prefer\b|avoid\b|consider\b|ensure\b|remember\b|open\b|update\b|change\b|convert\b|generate\b|list\b|select\b|choose\b|apply\b|push\b|replace\b|allow\b|be\b|refer\b|automatically\b|internally\b|same as\b|whether\b|how\b|(?:give|add|allow|return|use|create|provide|define|make|enable|include|contain|support|attempt|register|check|find|convert|generate|specifie|determine|control|represent|indicate|cause|accept|call|run|take|apply|applie|disable|remove|replace|load|parse|build|wrap|wait|emit|trigger|throw|lookup|look|read|write|send|fetch|help|serve|implement|invoke|resolve|require|validate|print|execute|override|ensure|prevent|handle|expose|describe|list|show|work|deregister|fire|perform|increment|decrement|copie|render|transform|extend|configure|reset|spawn|queue|decode|encode|free)(?:s|es)\b)/i;

const VERB =
  /\b(?:is|are|was|were|has|have|had|can|cannot|could|may|might|must|will|would|should|does|do|did|need|needs|\w{2,}ed|uses?|allows?|provides?|supports?|includes?|returns?|requires?|enables?|contains?|makes?|works?|helps?|takes?|gives?|offers?|adds?|creates?|runs?|becomes?|means?|lets?|follows?|defines?|represents?|accepts?|began|became|built|came|fell|found|gave|grew|held|kept|knew|led|left|lost|made|met|paid|ran|rose|said|saw|sent|set|sold|spent|stood|took|told|thought|went|won|wrote|\w{3,}(?:ates|izes|ises|ifies|uces|ents|acts|ains|eads|ects|ends|ults|ists|ows|olves|ives|aves|ares)|\w{3,}[^\Wus]s (?:an?|the|to|that|as|its|their|all|no|any|each|every|\d+))\b/i;

/** Function words of languages in Latin letters. Sentences contain some; lists and menus do not. */
const FUNCTION_WORD =
  /^["'“(]?(?:the|an?|of|to|is|are|was|were|be|been|in|on|for|and|or|by|with|that|which|as|it|its|from|at|this|can|has|have|not|but|der|die|das|und|ist|ein|eine|von|zu|den|dem|mit|für|auf|le|la|les|des|du|de|et|est|un|une|dans|que|qui|pour|el|los|las|en|y|es|por|con|il|di|che|è|per|o|os|um|uma|em|não)[,;:.)]?$/i;

/** Reports whether a sentence is only understandable after the sentence before it. */
export const dependsOnPrevious = (sentence: string): boolean =>
  DEPENDENT_START.test(sentence) || DEPENDENT_START_ZH.test(sentence);

const DEPENDENT_START =
  /^["'“(]?(?:it|its|this|that|these|those|they|their|them|he|she|his|her|such|both|there|then|however|also|moreover|furthermore|additionally|therefore|thus|hence|so|but|and|or|nor|otherwise|instead|similarly|likewise|meanwhile|finally|lastly|next|first(?:ly)?|second(?:ly)?|third(?:ly)?|for (?:example|instance|this|that|these)|in (?:addition|this|these|that|those|contrast|fact|particular|other words|such)|as (?:a result|such|an example)|consequently|accordingly|yet|still|nevertheless|nonetheless|because of this|with this|by doing|at this|at that|after that|after this|before that|doing so|the (?:former|latter|same|other|rest|second|third|first|result|resulting|returned|reason)|another|other|others|one of (?:them|these)|each of (?:them|these)|all of (?:them|these)|most of (?:them|these)|either|neither|again|on the other hand|that's|it's|there's|they're|(?:if|when|where|unless|once|because|since) (?:it|this|that|they|these|those|he|she|not)|if (?:any|so))\b/i;

const DEPENDENT_START_ZH =
  /^[“「『（]?(?:它|这|该|此|其|他|她|但|然而|因此|所以|此外|另外|同时|不过|而且|并且|例如|比如|于是|另一方面|总之|上述|以上|前者|后者|随后|然后|接着|由此|从而|其中|如果这)/;
