import { Command, Option } from 'commander';
import { z } from 'zod';
import { type AtCrashPoint, noCrash } from '../pay/crash-point.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { flagOf, parseOptions } from './options.ts';

/** Makes a command: `end` is given its exit code, `at` is called at each crash point. */
export type MakeCommand = (end: (code: ExitCode) => void, at?: AtCrashPoint) => Command;

/** What comes of a command; undefined is exit code 0. */
export type Ending = Promise<ExitCode | undefined>;

/**
 * An option: what it is for, alone, if it is given or not. Else its value in the help, what it is for, what it may be (a
 * schema, or the words to choose from) and what it is when it is left out. One that a schema needs has to be given.
 */
type OptionWords = string | readonly [value: string, about: string, is: z.ZodType | readonly string[], usual?: string];
export type OptionsWords = Readonly<Record<string, OptionWords>>;
/** An argument: what it is for, and a schema where not any text will do. */
type ArgumentWords = string | readonly [about: string, is: z.ZodType];
/** By `<name>`, `[name]` or `<name...>`. */
export type ArgumentsWords = Readonly<Record<string, ArgumentWords>>;

export interface CommandWords<Takes extends ArgumentsWords, Options extends OptionsWords, Above extends OptionsWords> {
  /** What it is for; commands.ts has it of those that are no part of another. */
  readonly about?: string;
  readonly takes?: Takes;
  readonly options?: Options;
  /** Options of the command that this one is part of, which it reads too. */
  readonly above?: Above;
  /** What the help says below the options. */
  readonly help?: string;
  readonly examples?: readonly string[];
  /** The commands that are part of it. */
  readonly parts?: readonly MakeCommand[];
}

/** Of a command that takes no arguments, or no options. */
export type Nothing = { readonly [Name in never]: string };

type NameOf<Term> = Term extends `<${infer Name}...>` | `[${infer Name}...]`
  ? Name
  : Term extends `<${infer Name}>` | `[${infer Name}]`
    ? Name
    : never;
type ArgumentOf<Term, Words> = Words extends readonly [string, infer Is extends z.ZodType]
  ? z.output<Is>
  : Term extends `${string}...${string}`
    ? string[]
    : Term extends `<${string}`
      ? string
      : string | undefined;
type ValueOf<Words> = Words extends readonly [string, string, infer Is, ...infer Usual]
  ? Is extends z.ZodType
    ? z.output<Is>
    : Is extends readonly (infer Choice)[]
      ? Choice | (Usual extends readonly [] ? undefined : never)
      : never
  : boolean;

/** The options that were given, as their schemas make them. */
export type GivenOptions<Options> = { readonly [Name in keyof Options]: ValueOf<Options[Name]> };
/** The arguments and options that were given, by their names. */
export type Given<Takes, Options> = {
  readonly [Term in keyof Takes as NameOf<Term>]: ArgumentOf<Term, Takes[Term]>;
} & GivenOptions<Options>;

/** A command of the command line. Its options are parsed before `run`: a Refusal (exit 2) names what is wrong. */
export function command<
  const Takes extends ArgumentsWords = Nothing,
  const Options extends OptionsWords = Nothing,
  const Above extends OptionsWords = Nothing,
>(
  name: string,
  words: CommandWords<Takes, Options, Above>,
  run?: (given: Given<Takes, Options & Above>, at: AtCrashPoint) => Ending,
): MakeCommand {
  const { about, parts = [] } = words;
  const takes: ArgumentsWords = words.takes ?? {};
  const options: OptionsWords = words.options ?? {};
  return (end, at = noCrash) => {
    const made = new Command(name);
    if (about !== undefined) made.description(about);
    for (const [term, text] of Object.entries(takes)) made.argument(term, typeof text === 'string' ? text : text[0]);
    for (const [key, option] of Object.entries(options)) made.addOption(optionOf(key, option));
    for (const part of parts) made.addCommand(part(end, at));
    made.addHelpText('after', helpOf(words));
    if (run === undefined) return made;
    return made.action(async () => {
      const values: readonly unknown[] = made.processedArgs;
      const named = made.registeredArguments.map((argument, index) => [argument.name(), values[index]] as const);
      const said: object = { ...made.optsWithGlobals(), ...Object.fromEntries(named) };
      const parsed = parseOptions(schemaOf(takes, { ...words.above, ...options }), said);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each name has the schema that its type is from
      const given = parsed as Given<Takes, Options & Above>;
      end((await run(given, at)) ?? EXIT.ok);
    });
  };
}

function optionOf(key: string, words: OptionWords): Option {
  const flag = flagOf(key);
  if (typeof words === 'string') return new Option(flag, words).default(false);
  const [value, about, is, usual] = words;
  const option = new Option(`${flag} ${value}`, about).default(usual);
  if (!(is instanceof z.ZodType)) return option.choices(is);
  if (takesSeveral(is) && !option.variadic) option.argParser(withAnother);
  return option.makeOptionMandatory(usual === undefined && !is.safeParse(undefined).success);
}

function takesSeveral(is: z.ZodType): boolean {
  return is instanceof z.ZodArray || (is instanceof z.ZodDefault && is.unwrap() instanceof z.ZodArray);
}

function withAnother(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

function schemaOf(takes: ArgumentsWords, options: OptionsWords): z.ZodObject {
  const fields = Object.entries(options).map(([key, words]) => {
    if (typeof words === 'string') return [key, z.boolean()];
    return [key, words[2] instanceof z.ZodType ? words[2] : z.enum(words[2]).optional()];
  });
  const named = Object.entries(takes).map(([term, words]) => [
    term.replaceAll(/[<>[\].]/g, ''),
    typeof words === 'string' ? z.any() : words[1],
  ]);
  return z.object(Object.fromEntries([...fields, ...named]));
}

function helpOf({ help, examples = [] }: Pick<CommandWords<never, never, never>, 'help' | 'examples'>): string {
  const heading = examples.length === 1 ? 'Example' : 'Examples';
  return [
    ...(help === undefined ? [] : [`\n${help}`]),
    ...(examples.length === 0 ? [] : [`\n${[`${heading}:`, ...examples].join('\n  ')}`]),
  ].join('\n');
}
