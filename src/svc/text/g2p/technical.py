"""Technical words, and a few names, that the lexicons lack or have wrong.

Each is respelt: a word between slashes is in American phonemes, a capital letter is spelt by its name, and any other
word is an English one.
"""

_TABLE = """
ansible         /ˈænsəbᵊl/
anthropic       /ænθɹˈɑpɪk/
api             A P I
ascii           /ˈæski/
async           /ˈAsɪŋk/
auth            /ˈɔθ/
aws             A W S
backend         back end
bool            /bˈul/
ceo             C E O
chatgpt         chat G P T
ci              C I
cli             C L I
config          /kˈɑnfɪɡ/
cpu             C P U
cron            /kɹˈɑn/
cuda            /kˈudə/
datadog         data dog
debian          /dˈɛbiən/
deepseek        deep seek
devops          /dˈɛv/ ops
django          /ʤˈæŋɡO/
dns             D N S
dockerfile      docker file
elasticsearch   elastic search
emacs           /ˈimæks/
enum            /ˈinˌʌm/
etcd            et C D
fastapi         fast A P I
ffmpeg          F F M peg
figma           /fˈɪɡmə/
filesystem      file system
frontend        front end
github          git hub
gitlab          git lab
golang          go /lˈæŋ/
gpu             G P U
grafana         /ɡɹəfˈɑnə/
graphql         graph Q L
hostname        host name
html            H T M L
http            H T T P
https           H T T P S
id              I D
ios             I O S
ipad            eye pad
iphone          eye phone
javascript      java script
jpeg            jay peg
json            /ʤˈAsᵊn/
jupyter         /ʤˈupɪɾəɹ/
jwt             J W T
kafka           /kˈɑfkə/
kotlin          /kˈɑtlɪn/
kubectl         cube control
kubernetes      /kˌubəɹnˈɛɾiz/
latex           /lˈAtˌɛk/
linkedin        linked in
linux           /lˈɪnəks/
llm             L L M
localhost       local host
macos           mac O S
mongodb         mongo D B
mutex           /mjˈuˌtɛks/
mysql           my S Q L
netflix         net /flˈɪks/
nginx           engine ex
nodejs          node J S
npm             N P M
numpy           numb pie
nguyen          /wˈɪn/
oauth           oh /ˈɔθ/
onnx            /ˈɑnɪks/
openai          open A I
openssl         open S S L
paypal          pay pal
pdf             P D F
postgres        post /ɡɹˈɛs/
postgresql      post /ɡɹˈɛs/ Q L
pypi            pie P I
pytest          pie test
pytorch         pie torch
re              /ɹˌi/
readme          /ɹˈidmˌi/
redis           /ɹˈɛdɪs/
regex           /ɹˈɛʤˌɛks/
repo            /ɹˈipO/
sdk             S D K
résumé          /ɹˈɛzəmˌA/
scipy           sigh pie
siobhan         /ʃəvˈɔn/
sql             S Q L
sqlite          S Q L ite
ssh             S S H
stderr          standard error
stdin           standard in
stdout          standard out
sudo            /sˈudˌu/
svelte          /svˈɛlt/
tensorflow      tensor flow
tchaikovsky     /ʧIkˈɔfski/
terraform       terra form
tiktok          tick tock
tokenizer       /tˈOkənˌIzəɹ/
toml            /tˈɑmᵊl/
tuple           /tˈʌpᵊl/
typescript      type script
ubuntu          /əbˈʊntu/
ui              U I
url             U R L
usb             U S B
ux              U X
uuid            U U I D
vscode          V S code
wasm            /wˈɑzəm/
webassembly     web assembly
webhook         web hook
webpack         web pack
websocket       web socket
wifi            why /fˈI/
xml             X M L
yaml            /jˈæmᵊl/
youtube         you tube
zsh             Z shell
"""

RESPELLINGS: dict[str, list[str]] = {
    word: parts for word, *parts in (line.split() for line in _TABLE.strip().splitlines())
}

# American phonemes and their British ones, longest first; British "r" is pronounced only before a vowel.
_BRITISH = (
    ("ɜɹ", "ɜː"), ("ɑɹ", "ɑː"), ("ɔɹ", "ɔː"), ("ɛɹ", "ɛː"), ("ɪɹ", "ɪə"), ("əɹ", "ə"),
    ("O", "Q"), ("ɑ", "ɒ"), ("æ", "a"), ("ɔθ", "ɔːθ"), ("ˈi", "ˈiː"), ("ˈu", "ˈuː"), ("ɾ", "t"), ("ᵻ", "ɪ"),
)  # fmt: skip


def to_british(phonemes: str) -> str:
    """American phonemes turned into approximately British ones."""
    for american, british in _BRITISH:
        phonemes = phonemes.replace(american, british)
    return phonemes
