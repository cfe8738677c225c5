import type { ResearchEvent, ResearchSite } from '../../core/research.ts';
import type { Log } from '../../core/telemetry.ts';
import { createRedraw, type WatchStream } from '../watch.ts';
import { counted, countWords, formatCount, formatElapsed, hostOf, indexNameOf, oneLine } from './describe.ts';
import type { ResearchRecord } from './record.ts';
import { createSectionWatch } from './section-watch.ts';

export interface DisplayNeeds {
  readonly stream: WatchStream;
  /** Bold and dim text. */
  readonly isStyled: boolean;
  /** Since the work began, in ms. */
  readonly elapsedMs: () => number;
}

export interface ResearchDisplay {
  /** What goes on now, for the line that a terminal shows below all others. */
  phase(text: string): void;
  title(text: string): void;
  said(label: string, text: string): void;
  /** Of what goes wrong and ends nothing, each once. */
  readonly warn: Log['warn'];
  push(events: readonly ResearchEvent[]): void;
  /** Draws the time anew. */
  tick(): void;
  /** Takes the last line away: whatever is written next stands alone. */
  clear(): void;
  summary(record: ResearchRecord): void;
}

/** Ours: columns of a text that is read; of a plain line, where no terminal says how wide it is. */
const COLUMNS_MAX = 96;
const PLAIN_CHARS_MAX = 200;

/** A run as a person follows it: lines that stay, and on a terminal one below them that says what goes on. */
export function createResearchDisplay({ stream, isStyled, elapsedMs }: DisplayNeeds): ResearchDisplay {
  const redraw = createRedraw(stream);
  const columns = stream.isTTY ? Math.min(stream.columns ?? 80, COLUMNS_MAX) : PLAIN_CHARS_MAX;
  const bold = (text: string): string => (isStyled ? `\u001b[1m${text}\u001b[22m` : text);
  const dim = (text: string): string => (isStyled ? `\u001b[2m${text}\u001b[22m` : text);
  const fit = (text: string, used: number): string => shortened(text, columns - used - 1);

  let doing = '';
  let facts: readonly string[] = [];
  let lines = '';
  let hasStatus = false;
  const say = (line = ''): void => void (lines += `${line}\n`);
  const flush = (): void => {
    const isShown = stream.isTTY === true && doing !== '';
    const status = isShown ? `\n${[doing, ...facts, formatElapsed(elapsedMs())].join(' · ')}\n` : '';
    // Where a person types, nothing is drawn.
    const text = hasStatus || isShown ? `${redraw('')}${lines}${redraw(status)}` : lines;
    hasStatus = isShown;
    lines = '';
    if (text !== '') stream.write(text);
  };
  const paragraph = (text: string): void => {
    for (const line of text
      .split('\n')
      .map(oneLine)
      .filter((part) => part !== ''))
      for (const row of stream.isTTY ? wrapped(line, columns - 3) : [line]) say(`  ${row}`);
  };

  const warned = new Set<string>();
  const known = new Set<number>();
  const sections = createSectionWatch();
  let tokens = 0;
  let plan = '';
  let learned: { readonly site: number; text: string } | undefined;
  const endLearned = (): void => {
    if (!learned) return;
    const mark = `[${learned.site}]`;
    say(`     ${dim('learned')} ${fit(oneLine(learned.text), 15 + mark.length)} ${dim(mark)}`);
    learned = undefined;
  };
  const site = ({ number, title, url }: ResearchSite): void => {
    const named = title.includes(indexNameOf(url)) ? '' : indexNameOf(url);
    const host = oneLine([hostOf(url), named].filter((part) => part !== '').join(': '));
    const name = fit(oneLine(title) || 'Without a title', 10 + host.length);
    say(`     ${dim(`[${number}]`)} ${name}  ${dim(host)}`.trimEnd());
  };
  const section = ({ title, words }: { readonly title: string; readonly words: number }): void =>
    say(`  ${fit(oneLine(title), 20)}  ${dim(counted(words, 'word'))}`);

  const show = (event: ResearchEvent): void => {
    if (event.type !== 'learned') endLearned();
    switch (event.type) {
      case 'usage':
        tokens = event.inputTokens + event.outputTokens;
        return;
      case 'plan':
        plan += event.text;
        return;
      case 'plan-end':
        if (plan.trim() !== '') {
          say();
          say(bold('Plan'));
          paragraph(plan);
        }
        doing = 'Searching';
        return;
      case 'query':
        say();
        say(`${dim(`${event.id}.`.padEnd(3))} ${bold(fit(oneLine(event.query), 5))}`);
        if (event.goal.trim() !== '') say(`    ${dim(fit(oneLine(event.goal), 5))}`);
        doing = 'Searching';
        return;
      case 'sites': {
        const fresh = event.sites.filter(({ number }) => !known.has(number));
        for (const each of fresh) {
          known.add(each.number);
          site(each);
        }
        const again = event.sites.length - fresh.length;
        if (again > 0) say(`     ${dim(`and ${formatCount(again)} found before`)}`);
        return;
      }
      case 'learned':
        if (learned && learned.site !== event.site) endLearned();
        learned = { site: event.site, text: `${learned?.text ?? ''}${event.text}` };
        return;
      case 'report':
        if (!sections.hasBegun()) {
          say();
          say(bold('Report'));
        }
        doing = 'Writing';
        sections.push(event.text);
        return;
      case 'question':
      case 'query-end':
      case 'end':
    }
  };

  return {
    phase(text) {
      doing = text;
      flush();
    },
    title(text) {
      say(bold(oneLine(text)));
      flush();
    },
    said(label, text) {
      say();
      say(bold(label));
      paragraph(text);
      flush();
    },
    warn(message, { provider, reason, error } = {}) {
      const facts = [provider, reason, error].filter((fact) => typeof fact === 'string');
      const line = oneLine([message, ...facts].join(': '));
      if (warned.has(line)) return;
      warned.add(line);
      say(`     ${dim('!')} ${fit(line, 7)}`);
      flush();
    },
    push(events) {
      for (const event of events) show(event);
      for (const done of sections.takeDone()) section(done);
      facts = [
        ...(known.size > 0 ? [`${counted(known.size, 'page')} found`] : []),
        ...(sections.hasBegun() ? [counted(sections.words(), 'word')] : []),
        ...(tokens > 0 ? [counted(tokens, 'token')] : []),
      ];
      flush();
    },
    tick: flush,
    clear() {
      doing = '';
      flush();
    },
    summary(record) {
      for (const last of sections.takeAll()) section(last);
      say();
      say(summaryOf(record));
      doing = '';
      flush();
    },
  };
}

function summaryOf(record: ResearchRecord): string {
  const { report, references, sitesFound, elapsedMs, inputTokens, outputTokens } = record;
  return [
    counted(countWords(report), 'word'),
    `${counted(references.length, 'source')} of ${counted(sitesFound, 'page')} found`,
    formatElapsed(elapsedMs),
    `${formatCount(inputTokens)} tokens read, ${formatCount(outputTokens)} written`,
  ].join(' · ');
}

/** Characters, not columns: a line of wide ones goes on in the next. */
function shortened(text: string, charsMax: number): string {
  const signs = [...text];
  return signs.length <= charsMax
    ? text
    : `${signs
        .slice(0, Math.max(1, charsMax - 1))
        .join('')
        .trimEnd()}…`;
}

function wrapped(text: string, columns: number): readonly string[] {
  const rows: string[] = [];
  let row = '';
  for (const word of text.split(' ')) {
    if (row !== '' && row.length + 1 + word.length > columns) {
      rows.push(row);
      row = word;
    } else row = row === '' ? word : `${row} ${word}`;
  }
  return row === '' ? rows : [...rows, row];
}
