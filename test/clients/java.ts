import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Program } from './program-cases.ts';

/** Folder into which `.ci/run` fetches the jars. */
const JARS = fileURLToPath(new URL('../../.cache/java/', import.meta.url));

/** The first version that runs a source file directly and knows the language features of the test programs. */
const JAVA_MIN = 11;

/** Creates the command that runs a source file with the jars of jars.sha256. Uses PARLEY_JAVA, else the system's Java. */
export function createJavaProgram(source: string, classPath = `${JARS}*`): Program {
  const command = process.env.PARLEY_JAVA ?? 'java';
  // The programs run for seconds: the optimizing compiler and a parallel garbage collector would cost more than they save.
  const startOptions = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
  // The logger of the SDK would write to the output that is parsed.
  const args = [...startOptions, '-Dorg.slf4j.simpleLogger.defaultLogLevel=off', '-cp', classPath, source];
  return { command, args, skipReason: getJdkSkipReason(command) ?? getJarsSkipReason() };
}

/**
 * Creates the command that runs a test program of ./java, or of another folder by its URL. A source file can use only
 * compiled classes, so this compiles java/parley/CaseRunner.java; the classes are deleted when this process exits.
 */
export function createJavaCases(file: string | URL): Program {
  const classes = mkdtempSync(join(tmpdir(), 'parley-java-'));
  process.once('exit', () => rmSync(classes, { recursive: true }));
  const source = fileURLToPath(typeof file === 'string' ? new URL(`java/${file}`, import.meta.url) : file);
  const program = createJavaProgram(source, `${JARS}*${delimiter}${classes}`);
  if (program.skipReason !== undefined) return program;
  const runner = fileURLToPath(new URL('java/parley/CaseRunner.java', import.meta.url));
  // The jars are on the class path of the compiler's own process, because only the launcher expands `*`.
  const compiler = ['-cp', `${JARS}*`, '-m', 'jdk.compiler/com.sun.tools.javac.Main', '-proc:none'];
  execFileSync(program.command, [...compiler, '-d', classes, runner]);
  return program;
}

function getJdkSkipReason(command: string): string | undefined {
  // A Java runtime without the compiler cannot run source files.
  const { stdout } = spawnSync(command, ['--list-modules'], { encoding: 'utf8' });
  const version = Number(/^jdk\.compiler@(\d+)/m.exec(stdout ?? '')?.[1] ?? 0);
  return version >= JAVA_MIN ? undefined : `no JDK ${JAVA_MIN} or newer (apt-get install default-jdk-headless)`;
}

function getJarsSkipReason(): string | undefined {
  const names = readFileSync(new URL('java/jars.sha256', import.meta.url), 'utf8').match(/\S+\.jar/g) ?? [];
  const missing = names.find((name) => !existsSync(`${JARS}${name}`));
  return missing === undefined ? undefined : `no .cache/java/${missing} (.ci/run fetches it)`;
}
