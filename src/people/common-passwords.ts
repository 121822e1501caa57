/*
 * Passwords that everybody tries first: words, names, places, pastimes and walks over the keyboard, as they stand or with
 * a digit or a sign behind. Lower case; those of fewer than eight letters are here because digits make them long enough.
 */
const WORDS = `
password passwort passw0rd p4ssword p4ssw0rd pa55word pa55w0rd pass word1 passpass passcode parole parola contrasena
motdepasse senha wachtwoord haslo heslo lozinka kennwort geheim secret secreto segreto topsecret trustno trustnoone
letmein letmeinnow openup opensesame welcome welcomeback willkommen bienvenue bienvenido benvenuto hello hallo hellohello
helloworld goodbye login signin logon enter access granted admin administrator administrador root rootroot toor superuser
sysadmin system master default changeme changeit changethis pleasechange newpassword oldpassword mypassword yourpassword
thepassword nopassword password1234 temp temporary test testtest tester testing demo demodemo example sample guest guestguest
user username useruser anonymous nobody somebody whatever nothing forgotten remember iforgot dontknow idontknow
computer internet network server database windows microsoft apple google amazon facebook linkedin twitter instagram youtube
netflix samsung android iphone motorola toyota ferrari porsche mercedes corvette mustang harley yamaha honda chevrolet
qwerty qwertyui qwertyuiop qwertz qwertzui qwertzuiop azerty azertyuiop asdfgh asdfghjk asdfghjkl zxcvbn zxcvbnm
yxcvbnm qweasd qweasdzxc qazwsx qazwsxedc wsxedc zaqwsx zaq12wsx 1qaz2wsx 1qaz2wsx3edc 1q2w3e4r 1q2w3e4r5t q1w2e3r4
q1w2e3r4t5 1qazxsw2 asdasdasd qweqweqwe asdfasdf qwerqwer zxczxczxc poiuytrewq lkjhgfdsa mnbvcxz abcdef abcdefgh abcd1234
abc12345 a1b2c3d4 a1b2c3d4e5 aa123456 aaa11111 12qwaszx qwer1234 asdf1234 zxcv1234 123qweasd 1234qwer 123abc123 abc123abc
iloveyou iloveu ilovemyself iloveme loveyou lovelove lovers lovely loveme forever together sweetheart darling honey babygirl
babyboy beautiful princess prince queen kingking angel angels princesa tequiero teamo jetaime mahalkita
monkey dragon tiger lion eagle falcon panther phoenix dolphin butterfly chicken turtle rabbit kitten puppy doggie horses
spider scorpion shadow ghost hunter ranger killer warrior ninja pirate knight wizard merlin gandalf hobbit matrix
superman batman spiderman ironman starwars startrek pokemon pikachu mickey snoopy garfield scooby mario nintendo playstation
minecraft fortnite callofduty counterstrike warcraft worldofwarcraft leagueoflegends
football soccer baseball basketball hockey tennis volleyball cricket running fishing swimming climbing chelsea arsenal
liverpool manchester manutd barcelona realmadrid juventus bayern borussia celtic rangers lakers yankees cowboys steelers
michael jennifer jessica ashley amanda daniel daniela andrew andrea matthew joshua jordan anthony nicole nicholas michelle
samantha elizabeth victoria alexander alexandra alexandre benjamin charlie charlotte christian christina christopher
jonathan stephanie robert roberto richard thomas patrick patricia martin martina maria mariana gabriel gabriela sebastian
francisco fernando ricardo eduardo carolina valentina mohammed abdullah
sunshine rainbow summer winter spring autumn january february march april june july august september october november
december monday tuesday wednesday thursday friday saturday sunday christmas halloween birthday holiday vacation weekend
chocolate cookie cookies cheese pizza coffee banana orange strawberry cherry pepper ginger pumpkin sugar whisky heineken
london paris berlin madrid munich hamburg vienna zurich amsterdam brussels lisbon dublin newyork chicago boston dallas
california florida texas america england germany france espana italia brasil mexico canada australia india
freedom peace power money dollar dollars diamond silver golden platinum lucky success winner champion number one
blessed jesus jesuschrist heaven godisgood blessing faith maverick legend destiny mystery paradise universe galaxy
finance payment payments payout payouts payroll salary salaries invoice invoices bank banking account accounts treasury
accountant accounting company business office manager director employee customer service support helpdesk
correcthorsebatterystaple
`;

/** About five hundred, in lower case. */
const OWN_WORDS: readonly string[] = WORDS.split(/\s+/).filter((word) => word !== '');

/** Of a list that is kept by others, those that are taken most. */
const LISTED_MAX = 3000;

let loaded: Promise<ReadonlySet<string>> | undefined;

/** What everybody tries first, in lower case, also with letters for signs. The list is large, and is read when the first password is chosen. */
export async function commonPasswords(): Promise<ReadonlySet<string>> {
  loaded ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => {
    const words = [...OWN_WORDS, ...dictionary['passwords-common'].slice(0, LISTED_MAX)];
    return new Set([...words, ...words.flatMap(withLetters)]);
  });
  return await loaded;
}

/** What people put signs in the place of. */
const LETTERS: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
};

/** A text with letters for the signs that people put in their place; a 1 stands for two of them. */
export function withLetters(text: string): [string, string] {
  const letters = text.replaceAll(/[@43!0$57]/g, (sign) => LETTERS[sign] ?? sign);
  return [letters.replaceAll('1', 'i'), letters.replaceAll('1', 'l')];
}
