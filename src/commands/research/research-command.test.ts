import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { textOf } from '../../core/message.ts';
import { playResearch, REPORT_STEPS } from './__fixtures__/play-research.ts';
import { researchCommand, type ResearchCommandNeeds } from './research-command.ts';

const MARKDOWN = `# Of whales

**Question:** How do whales sing?

**Asked back:** Which whales?

**Answer:** No preference.

*1 July 2026 · 12 words · 2 sources · 2 s · svc-deep-research*

Whales sing.[[1]](#source-1)

## The sea

The sea is deep[[2]](#source-2) and wide.\\[\\[7\\]\\]

## Sources

1. <a id="source-1"></a>[Whales \\*sing\\*](<https://www.whales.test/song?a=1\\&lt;=2>)
2. <a id="source-2"></a>notes/sea.md: parley-index:notes/sea.md
`;

const SHOWN = `How do whales sing?

Asked back
  Which whales?

Answer
  No preference.

Plan
  First the body, then the song.

1.  whale larynx
    How the sound is made
     [4] Whales *sing*  whales.test
     [5] notes/sea.md  local index
     learned Whales sing. [4]
     learned The sea is deep. [5]

2.  whale song
     and 1 found before

Report
  Of whales  2 words
  The sea  6 words

12 words · 2 sources of 2 pages found · 2 s · 5,100 tokens read, 910 written
`;

describe('parley research', () => {
  let folder = '';
  let opened = 0;
  let output = '';
  let shown = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-research-'));
  });
  afterEach(async () => {
    assert.equal(opened, 0, 'the command has left something open');
    await rm(folder, { recursive: true });
  });

  interface Play {
    readonly research?: ReturnType<typeof playResearch>;
    readonly ask?: ResearchCommandNeeds['ask'];
    readonly stop?: AbortController;
    readonly terminal?: { readonly columns: number };
    readonly every?: ResearchCommandNeeds['every'];
    readonly warnings?: readonly (readonly [message: string, facts?: Readonly<Record<string, unknown>>])[];
  }
  async function run(
    args: readonly string[],
    { research = playResearch(), ask, stop, terminal, warnings = [], every = () => () => undefined }: Play = {},
  ) {
    output = '';
    shown = '';
    let ms = 0;
    const context = (signal: AbortSignal) => ({
      requestId: 'research_1',
      owner: { workspace: 'default', region: 'cn-beijing', keyId: 'key_1' } as const,
      signal,
      log: { add: () => undefined, warn: () => undefined },
    });
    const command = researchCommand({
      open: async (_flags, warn) => {
        opened += 1;
        for (const [message, facts] of warnings) warn(message, facts);
        return { research, context, close: async () => void (opened -= 1) };
      },
      ask,
      // Each look takes a second.
      clock: { now: () => Date.parse('2026-07-01T12:00:00Z'), monotonic: () => (ms += 1_000) },
      every,
      stdout: {
        write(text, done) {
          output += text;
          if (done) setImmediate(done);
        },
      },
      stderr: { write: (text) => void (shown += text), ...(terminal && { isTTY: true, rows: 24, ...terminal }) },
      isStyled: false,
      ...(stop && { untilStopped: (_message, work) => work(stop.signal) }),
    });
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    await command.parseAsync([...args], { from: 'user' });
  }
  const QUESTION = ['How', 'do', 'whales', 'sing?'];

  it('writes the report as Markdown and as a page, tells where, and shows how it comes about', async () => {
    await run([...QUESTION, '--out', folder]);
    const stem = join(folder, 'research-how-do-whales-sing');
    assert.equal(output, `${stem}.md\n${stem}.html\n`);
    assert.equal(await readFile(`${stem}.md`, 'utf8'), MARKDOWN);
    assert.match(await readFile(`${stem}.html`, 'utf8'), /^<!doctype html>[^]*<h1>Of whales<\/h1>[^]*<\/html>\n$/);
    assert.equal(shown, SHOWN);
    assert.deepEqual(await readdir(folder), ['research-how-do-whales-sing.html', 'research-how-do-whales-sing.md']);
  });

  it('asks both steps as a conversation, with the size and the model that were wished for', async () => {
    const research = playResearch();
    await run([...QUESTION, '--answer', ' Blue ones. ', '--summary', '--model', 'my-research', '--out', '-'], {
      research,
    });
    assert.deepEqual(
      research.asked.map(({ step, request: { model, reportSize, messages } }) => [
        step,
        model,
        reportSize,
        ...messages.map((message) => `${message.role}: ${textOf(message)}`),
      ]),
      ['clarify', 'check', 'run'].map((step) => [
        step,
        'my-research',
        'summary',
        'user: How do whales sing?',
        ...(step === 'clarify' ? [] : ['assistant: Which whales?', 'user: Blue ones.']),
      ]),
    );
  });

  it('gives Markdown alone to standard output', async () => {
    await run([...QUESTION, '--out', '-']);
    assert.match(output, /^# Of whales\n/);
    assert.match(output, /notes\/sea\.md\n$/);
    assert.deepEqual(await readdir(folder), []);
  });

  it('takes the answer of a person at a terminal, and none for no preference', async () => {
    for (const [typed, answer] of [
      [' Blue ones. ', 'Blue ones.'],
      ['', 'No preference.'],
    ] as const) {
      const research = playResearch();
      await run([...QUESTION, '--out', '-'], { research, ask: async () => typed });
      assert.equal(textOf(research.asked[2]?.request.messages[2] ?? assert.fail()), answer);
    }
  });

  it('leaves all open in the language of the question', async () => {
    const research = playResearch();
    await run(['鲸鱼为什么唱歌？', '--out', '-'], { research });
    const said = research.asked.at(-1)?.request.messages.map(textOf).at(-1);
    assert.equal(said, '没有特别的要求。');
  });

  it('writes a file under its own name, in one format where the name says which', async () => {
    await run([...QUESTION, '--out', join(folder, 'whales.html')]);
    await run([...QUESTION, '--out', join(folder, 'deep', 'whales')]);
    await run([...QUESTION, '--out', join(folder, 'new/')]);
    assert.deepEqual((await readdir(folder, { recursive: true })).toSorted(), [
      'deep',
      'deep/whales.html',
      'deep/whales.md',
      'new',
      'new/research-how-do-whales-sing.html',
      'new/research-how-do-whales-sing.md',
      'whales.html',
    ]);
  });

  it('replaces nothing unless it is told to, and does no work before it says so', async () => {
    const file = join(folder, 'whales.md');
    await writeFile(file, 'mine');
    const research = playResearch();
    const refused = {
      kind: 'conflict',
      message: `${file} exists already: name another place with --out, or replace it with --force.`,
    };
    await assert.rejects(run([...QUESTION, '--out', file], { research }), refused);
    await assert.rejects(run([...QUESTION, '--out', join(folder, 'whales')], { research }), refused);
    assert.deepEqual(research.asked, []);
    assert.equal(await readFile(file, 'utf8'), 'mine');
    await run([...QUESTION, '--out', file, '--force']);
    assert.match(await readFile(file, 'utf8'), /^# Of whales/);
  });

  it('takes the next free name where a file has come meanwhile', async () => {
    const between = (at: number) => (at === 0 ? writeFile(join(folder, 'whales.html'), 'theirs') : undefined);
    await run([...QUESTION, '--out', join(folder, 'whales')], { research: playResearch({ between }) });
    assert.equal(output, `${join(folder, 'whales-2')}.md\n${join(folder, 'whales-2')}.html\n`);
    assert.deepEqual(await readdir(folder), ['whales-2.html', 'whales-2.md', 'whales.html']);
    assert.equal(await readFile(join(folder, 'whales.html'), 'utf8'), 'theirs');
  });

  it('gives the report to standard output where no file can be written', async () => {
    const out = join(folder, 'gone');
    const between = (at: number) => (at === 0 ? rm(out, { recursive: true }) : undefined);
    const failed = { code: 'ENOENT', syscall: 'open' };
    await assert.rejects(run([...QUESTION, '--out', `${out}/`], { research: playResearch({ between }) }), failed);
    assert.equal(output, MARKDOWN);
  });

  it('writes nothing when it is stopped in the middle of a report', async () => {
    const stop = new AbortController();
    const reason = new ServiceError('cancelled', 'Stopped. Nothing was written.');
    const between = (at: number) => {
      if (at < 4) return;
      stop.abort(reason);
      throw new Error('the engine was called off');
    };
    await assert.rejects(run([...QUESTION, '--out', folder], { research: playResearch({ between }), stop }), reason);
    assert.deepEqual([output, await readdir(folder)], ['', []]);
  });

  it('writes nothing of a run that breaks off or says nothing', async () => {
    const failed = {
      kind: 'engine-failed',
      message: 'The research ended without a whole report. Nothing was written.',
    };
    for (const steps of [REPORT_STEPS.slice(0, 5), [[{ type: 'end', reason: 'stop' }]] as const])
      await assert.rejects(run([...QUESTION, '--out', folder], { research: playResearch({ steps }) }), failed);
    assert.deepEqual(await readdir(folder), []);
  });

  it('says of a report that a budget ended it', async () => {
    const steps = [...REPORT_STEPS.slice(0, -1), [{ type: 'end', reason: 'length' }] as const];
    await run([...QUESTION, '--out', folder], { research: playResearch({ steps }) });
    const note = 'A limit of searches, pages, tokens or time ended the work: the report is shorter than it was to be.';
    assert.ok(shown.endsWith(`${note}\n`));
    for (const name of await readdir(folder))
      assert.ok((await readFile(join(folder, name), 'utf8')).includes(note), name);
  });

  it('tells what goes wrong and ends nothing, each once', async () => {
    const failed = [
      'a search provider failed',
      { provider: 'wiki', kind: 'timeout', reason: 'It\u001b[2J slept.' },
    ] as const;
    await run([...QUESTION, '--out', '-'], { warnings: [failed, failed, ['only that']] });
    assert.match(shown, /^How.*\n {5}! a search provider failed: wiki: It\[2J slept\.\n {5}! only that\n\nAsked back/);
  });

  it('says of a report without sources that nothing was found', async () => {
    const steps = [[{ type: 'report', text: '*Nothing.*' }], [{ type: 'end', reason: 'stop' }]] as const;
    await run([...QUESTION, '--out', '-'], { research: playResearch({ steps }) });
    assert.match(shown, /\nNothing was found that could be reported\..*parley index search.*\n$/);
    await run([...QUESTION, '--out', '-']);
    assert.doesNotMatch(shown, /Nothing was found/);
  });

  it('refuses an empty question as a wrong argument', async () => {
    await assert.rejects(run([' ']), { kind: 'invalid-request', message: 'The question is empty.' });
    await assert.rejects(run([]), { code: 'commander.missingArgument' });
  });

  it('draws a last line with the time on a terminal, and takes it away at the end', async () => {
    await mkdir(join(folder, 'out'));
    let tick = (): void => undefined;
    let isOver = false;
    const every: ResearchCommandNeeds['every'] = (ms, draw) => {
      assert.equal(ms, 1_000);
      tick = draw;
      return () => void (isOver = true);
    };
    const research = playResearch({ between: (at) => (at === 2 ? tick() : undefined) });
    await run([...QUESTION, '--out', join(folder, 'out')], { research, terminal: { columns: 60 }, every });
    const status = (seconds: number) => `\nSearching · 2 pages found · 2,200 tokens · ${seconds} s\n`;
    assert.ok(shown.includes(`${status(8)}\u001b[2A\u001b[J\u001b[J${status(9)}\u001b[2A\u001b[J\n2.  whale song\n`));
    assert.ok(isOver);
    assert.ok(shown.endsWith('\u001b[J'));
  });
});
