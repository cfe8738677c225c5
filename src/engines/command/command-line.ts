import { VLLM_BATCH_ADAPTERS_MAX } from '../limits.ts';

/** Programs whose command line Parley can build. */
export type CommandPreset = 'llama-server' | 'vllm' | 'sglang';

/** Settings of a server program. */
export interface ProgramSettings {
  /** Path, or a name along PATH. Default: the preset's program. A free form names its program in its first word. */
  readonly program?: string | undefined;
  /** Model as the program expects it: a GGUF file for llama-server, else a folder or the name of a repository. */
  readonly model: string;
  /** Projector file with which llama-server reads images; the other programs find it in the model's folder. */
  readonly projectorFile?: string | undefined;
  /** LoRA adapters: vLLM serves them beside the model, llama-server applies them to all answers. */
  readonly adapters?: readonly { readonly name: string; readonly path: string }[] | undefined;
  /** Largest rank of the adapters, as far as it is known. */
  readonly adapterRank?: number | undefined;
  /** Model name in requests. */
  readonly servedName: string;
  /** Tokens of prompt and answer of one sequence together. Absent: what the program chooses by model and memory. */
  readonly contextTokens?: number | undefined;
  /** Number of sequences that the program generates in parallel. */
  readonly sequences: number;
  readonly threads: number;
  /** `auto`: the program decides. `false`: no GPU; only llama-server supports it, the others need accelerators. */
  readonly gpu: 'auto' | false;
  /** Embedding and ranking models need an extra argument. vLLM detects the purpose from the model. */
  readonly purpose?: 'text' | 'embeddings' | 'reranking';
  /** The operator's arguments, after Parley's: where a program uses the last of two, the operator's win. */
  readonly extraArguments?: readonly string[];
  /** The operator's environment variables for this program. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Values that differ from start to start. */
export interface LaunchParameters {
  readonly host: string;
  readonly port: number;
  /** Key that the program must require for calls. */
  readonly apiKey: string;
  /** Folder that other users cannot read; removed after the program's end. */
  readonly folder: string;
}

export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables beside those that a program inherits. */
  readonly environment: Readonly<Record<string, string>>;
  /** Files to create in `LaunchParameters.folder` before the start: text by name. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * Builds the command line of a start. Arguments are visible to every user of a machine, so the key is passed in another
 * way where the program supports it:
 *
 * - llama-server and vLLM read it from the environment (LLAMA_API_KEY, VLLM_API_KEY). vLLM requires it only for paths
 *   below /v1 and similar ones, so its other paths are open to users of this machine.
 * - SGLang has no variable for it; it reads a file of arguments (`--config`, in releases since September 2025).
 * - A free form places it where its words and variables contain `{key}`, or `{keyFile}` for a file that contains the key.
 *
 * Flags: llama.cpp tools/server/README.md; docs.vllm.ai/en/latest/cli/serve; docs.sglang.io server arguments.
 *
 * @param form A preset, or the words of a command with the placeholders {host} {port} {model} {name} {context}
 *   {sequences} {threads} {key} {keyFile}; other braces are kept.
 */
export function buildCommandLine(
  form: CommandPreset | readonly [string, ...string[]],
  settings: ProgramSettings,
  parameters: LaunchParameters,
): CommandLine {
  switch (form) {
    case 'llama-server':
      return buildLlamaServerLine(settings, parameters);
    case 'vllm':
      return buildVllmLine(settings, parameters);
    case 'sglang':
      return buildSglangLine(settings, parameters);
    default:
      return buildFreeFormLine(form, settings, parameters);
  }
}

function buildLlamaServerLine(settings: ProgramSettings, { host, port, apiKey }: LaunchParameters): CommandLine {
  const { purpose = 'text' } = settings;
  return {
    command: settings.program ?? 'llama-server',
    args: [
      ['--model', settings.model, '--alias', settings.servedName],
      settings.projectorFile === undefined ? [] : ['--mmproj', settings.projectorFile],
      (settings.adapters ?? []).flatMap(({ path }) => ['--lora', path]),
      ['--host', host, '--port', `${port}`],
      // llama-server divides this context among all its slots.
      settings.contextTokens === undefined ? [] : ['--ctx-size', `${settings.contextTokens * settings.sequences}`],
      ['--parallel', `${settings.sequences}`],
      ['--threads', `${settings.threads}`],
      settings.gpu === false ? ['--n-gpu-layers', '0'] : [],
      '--jinja',
      '--no-webui',
      purpose === 'embeddings' ? ['--embeddings'] : [],
      purpose === 'reranking' ? ['--reranking'] : [],
      settings.extraArguments ?? [],
    ].flat(),
    environment: { ...settings.environment, LLAMA_API_KEY: apiKey },
  };
}

function buildVllmLine(settings: ProgramSettings, { host, port, apiKey }: LaunchParameters): CommandLine {
  return {
    command: settings.program ?? 'vllm',
    args: [
      ['serve', settings.model, '--served-model-name', settings.servedName],
      ['--host', host, '--port', `${port}`],
      // `auto`: the model's own length, or what fits into the memory (since v0.14).
      ['--max-model-len', `${settings.contextTokens ?? 'auto'}`, '--max-num-seqs', `${settings.sequences}`],
      // Reports cached tokens in the usage, and the template and special tokens that Parley needs to render prompts.
      ['--enable-prompt-tokens-details', '--enable-tokenizer-info-endpoint'],
      listVllmAdapterArguments(settings),
      settings.extraArguments ?? [],
    ].flat(),
    // Disables vLLM's usage statistics unless the operator enables them.
    environment: { VLLM_NO_USAGE_STATS: '1', ...settings.environment, VLLM_API_KEY: apiKey },
  };
}

/** Ranks that vLLM can reserve memory for (vllm/config/lora.py); it refuses adapters of a higher one. */
const VLLM_ADAPTER_RANKS = [8, 16, 32, 64, 128, 256, 320, 512];

/** Without `--max-lora-rank`, vLLM reserves memory for this rank. */
const VLLM_ADAPTER_RANK_DEFAULT = 16;

function listVllmAdapterArguments({ adapters = [], adapterRank = 0 }: ProgramSettings): readonly string[] {
  if (adapters.length === 0) return [];
  const rank = VLLM_ADAPTER_RANKS.find((each) => each >= adapterRank) ?? adapterRank;
  return [
    ['--enable-lora', '--max-loras', `${Math.min(adapters.length, VLLM_BATCH_ADAPTERS_MAX)}`],
    rank > VLLM_ADAPTER_RANK_DEFAULT ? ['--max-lora-rank', `${rank}`] : [],
    // As JSON, a path may contain any characters; NAME=PATH allows neither `=` nor `,`.
    ['--lora-modules', ...adapters.map(({ name, path }) => JSON.stringify({ name, path }))],
  ].flat();
}

function buildSglangLine(settings: ProgramSettings, { host, port, apiKey, folder }: LaunchParameters): CommandLine {
  const file = 'sglang.yaml';
  return {
    command: settings.program ?? 'python3',
    args: [
      ['-m', 'sglang.launch_server', '--config', `${folder}/${file}`],
      ['--model-path', settings.model, '--served-model-name', settings.servedName],
      ['--host', host, '--port', `${port}`],
      settings.contextTokens === undefined ? [] : ['--context-length', `${settings.contextTokens}`],
      ['--max-running-requests', `${settings.sequences}`],
      // Reports cached tokens in the usage.
      '--enable-cache-report',
      (settings.purpose ?? 'text') === 'text' ? [] : ['--is-embedding'],
      settings.extraArguments ?? [],
    ].flat(),
    environment: { ...settings.environment },
    // JSON is valid YAML.
    files: { [file]: `${JSON.stringify({ 'api-key': apiKey })}\n` },
  };
}

function buildFreeFormLine(
  template: readonly [string, ...string[]],
  settings: ProgramSettings,
  parameters: LaunchParameters,
): CommandLine {
  const keyFile = 'key';
  const values: Readonly<Record<string, string>> = {
    host: parameters.host,
    port: `${parameters.port}`,
    model: settings.model,
    name: settings.servedName,
    ...(settings.contextTokens === undefined ? {} : { context: `${settings.contextTokens}` }),
    sequences: `${settings.sequences}`,
    threads: `${settings.threads}`,
    key: parameters.apiKey,
    keyFile: `${parameters.folder}/${keyFile}`,
  };
  const fill = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (found, name: string) => values[name] ?? found);
  const [command, ...args] = template;
  return {
    command: fill(command),
    args: [...args, ...(settings.extraArguments ?? [])].map(fill),
    environment: Object.fromEntries(
      Object.entries(settings.environment ?? {}).map(([name, value]) => [name, fill(value)]),
    ),
    files: { [keyFile]: `${parameters.apiKey}\n` },
  };
}
