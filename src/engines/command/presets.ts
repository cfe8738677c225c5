/** Programs whose command line we know. */
export type CommandPreset = 'llama-server' | 'vllm' | 'sglang';

/** What a program is to serve. */
export interface ProgramSettings {
  /** Path, or a name along PATH. Absent: the preset's own name. A free form's first word is its program. */
  readonly program?: string | undefined;
  /** As the program takes it: a GGUF file for llama-server, else a folder or the name of a repository. */
  readonly model: string;
  /** The model's name in requests. */
  readonly servedName: string;
  /** Tokens of prompt and answer together, of one sequence. */
  readonly contextTokens: number;
  /** Answers side by side. */
  readonly sequences: number;
  readonly threads: number;
  /** `auto`: as the program decides. `false`: heard by llama-server only; the others are made for accelerators. */
  readonly gpu: 'auto' | false;
  /** A model that makes vectors or scores takes a word of its own. vLLM sees it by the model. */
  readonly purpose?: 'text' | 'embeddings' | 'reranking';
  /** Prometheus metrics of the program itself. vLLM always has them. */
  readonly metrics?: boolean;
  /** The operator's own words, after ours: where a program takes the last of two, they win. */
  readonly more?: readonly string[];
  /** The operator's variables for this program. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** What differs from start to start. */
export interface Place {
  readonly host: string;
  readonly port: number;
  /** The program is to refuse calls without it. */
  readonly apiKey: string;
  /** Closed to other users, and gone after the program's end. */
  readonly folder: string;
}

export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  /** Beside what a program inherits. */
  readonly environment: Readonly<Record<string, string>>;
  /** Files to be in `Place.folder` before the start: name and text. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * The command line of a start. The key is never among the arguments, which every user of a machine may read, as far as
 * the program allows it:
 *
 * - llama-server and vLLM read it from the environment (LLAMA_API_KEY, VLLM_API_KEY). vLLM guards only what is below /v1
 *   and the like with it, so its other paths are open to users of this machine.
 * - SGLang has no variable for it; it reads a file of arguments (`--config`, in releases since September 2025).
 * - A free form puts it where its words and variables say `{key}`, or `{keyFile}` for a file that holds it.
 *
 * Flags: llama.cpp tools/server/README.md; docs.vllm.ai/en/latest/cli/serve; docs.sglang.io server arguments.
 *
 * @param form A preset, or the words of a command with {host} {port} {model} {name} {context} {sequences} {threads}
 *   {key} {keyFile}; other braces are left alone.
 */
export function commandLine(
  form: CommandPreset | readonly [string, ...string[]],
  settings: ProgramSettings,
  place: Place,
): CommandLine {
  switch (form) {
    case 'llama-server':
      return llamaServer(settings, place);
    case 'vllm':
      return vllm(settings, place);
    case 'sglang':
      return sglang(settings, place);
    default:
      return freeForm(form, settings, place);
  }
}

function llamaServer(settings: ProgramSettings, { host, port, apiKey }: Place): CommandLine {
  const { purpose = 'text' } = settings;
  return {
    command: settings.program ?? 'llama-server',
    args: [
      ['--model', settings.model, '--alias', settings.servedName],
      ['--host', host, '--port', `${port}`],
      // The context is that of all its slots together.
      ['--ctx-size', `${settings.contextTokens * settings.sequences}`, '--parallel', `${settings.sequences}`],
      ['--threads', `${settings.threads}`],
      settings.gpu === false ? ['--n-gpu-layers', '0'] : [],
      '--jinja',
      '--no-webui',
      settings.metrics ? ['--metrics'] : [],
      purpose === 'embeddings' ? ['--embeddings'] : [],
      purpose === 'reranking' ? ['--reranking'] : [],
      settings.more ?? [],
    ].flat(),
    environment: { ...settings.environment, LLAMA_API_KEY: apiKey },
  };
}

function vllm(settings: ProgramSettings, { host, port, apiKey }: Place): CommandLine {
  return {
    command: settings.program ?? 'vllm',
    args: [
      ['serve', settings.model, '--served-model-name', settings.servedName],
      ['--host', host, '--port', `${port}`],
      ['--max-model-len', `${settings.contextTokens}`, '--max-num-seqs', `${settings.sequences}`],
      // Without them it does not tell what was in its cache, nor the template and special tokens that we need to render prompts.
      ['--enable-prompt-tokens-details', '--enable-tokenizer-info-endpoint'],
      settings.more ?? [],
    ].flat(),
    // It tells its makers what it runs on unless it is told not to.
    environment: { VLLM_NO_USAGE_STATS: '1', ...settings.environment, VLLM_API_KEY: apiKey },
  };
}

function sglang(settings: ProgramSettings, { host, port, apiKey, folder }: Place): CommandLine {
  const file = 'sglang.yaml';
  return {
    command: settings.program ?? 'python3',
    args: [
      ['-m', 'sglang.launch_server', '--config', `${folder}/${file}`],
      ['--model-path', settings.model, '--served-model-name', settings.servedName],
      ['--host', host, '--port', `${port}`],
      ['--context-length', `${settings.contextTokens}`, '--max-running-requests', `${settings.sequences}`],
      // Without it, it does not tell what was in its cache.
      '--enable-cache-report',
      settings.metrics ? ['--enable-metrics'] : [],
      (settings.purpose ?? 'text') === 'text' ? [] : ['--is-embedding'],
      settings.more ?? [],
    ].flat(),
    environment: { ...settings.environment },
    // JSON is YAML.
    files: { [file]: `${JSON.stringify({ 'api-key': apiKey })}\n` },
  };
}

function freeForm(words: readonly [string, ...string[]], settings: ProgramSettings, place: Place): CommandLine {
  const keyFile = 'key';
  const values: Readonly<Record<string, string>> = {
    host: place.host,
    port: `${place.port}`,
    model: settings.model,
    name: settings.servedName,
    context: `${settings.contextTokens}`,
    sequences: `${settings.sequences}`,
    threads: `${settings.threads}`,
    key: place.apiKey,
    keyFile: `${place.folder}/${keyFile}`,
  };
  const fill = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (found, name: string) => values[name] ?? found);
  const [command, ...args] = words;
  return {
    command: fill(command),
    args: [...args, ...(settings.more ?? [])].map(fill),
    environment: Object.fromEntries(
      Object.entries(settings.environment ?? {}).map(([name, value]) => [name, fill(value)]),
    ),
    files: { [keyFile]: `${place.apiKey}\n` },
  };
}
