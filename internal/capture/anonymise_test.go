package capture

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func anonymised(files map[string]string, hostNames ...string) map[string]entry {
	a := &Archive{map[string]entry{}}
	for name, text := range files {
		a.entries[name] = entry{file, text}
	}
	return a.Anonymise(hostNames...).entries
}

func TestAnonymise(t *testing.T) {
	tests := map[string]struct{ file, text, want string }{
		"GUID":                         {"node_guid", "506b:4b03:00cb:a52c\n", "0200:0300:0000:0001\n"},
		"no GUID":                      {"node_guid", "0000:0000:0000:0000\n", "0000:0000:0000:0000\n"},
		"MAC":                          {"address", "0c:42:a1:79:a4:b2\n", "02:00:00:00:00:01\n"},
		"MAC in capitals":              {"note", "0C:42:A1:79:A4:B2\n", "02:00:00:00:00:01\n"},
		"no MAC":                       {"address", "00:00:00:00:00:00\n", "00:00:00:00:00:00\n"},
		"broadcast":                    {"broadcast", "ff:ff:ff:ff:ff:ff\n", "ff:ff:ff:ff:ff:ff\n"},
		"link-local GID of a MAC":      {"0", "fe80:0000:0000:0000:0e42:a1ff:fe79:a4b2\n", "fe80:0000:0000:0000:0000:00ff:fe00:0001\n"},
		"link-local GID":               {"0", "fe80:0000:0000:0000:506b:4b03:00cb:a52c\n", "fe80:0000:0000:0000:0200:0300:0000:0001\n"},
		"IPv4-mapped GID":              {"3", "0000:0000:0000:0000:0000:ffff:c000:0206\n", "0000:0000:0000:0000:0000:ffff:0a00:0101\n"},
		"mapped link-local GID":        {"3", "0000:0000:0000:0000:0000:ffff:a9fe:0206\n", "0000:0000:0000:0000:0000:ffff:a9fe:0101\n"},
		"global GID":                   {"3", "2a02:0db8:0001:0002:0000:0000:0000:0005\n", "2001:0db8:0000:0001:0200:0300:0000:0001\n"},
		"unique local GID":             {"3", "fdab:0db8:0001:0002:0000:0000:0000:0005\n", "fd00:0000:0000:0001:0200:0300:0000:0001\n"},
		"site-local GID":               {"3", "fec0:0000:0000:0007:0000:0000:0000:0005\n", "fec0:0000:0000:0001:0200:0300:0000:0001\n"},
		"empty slot":                   {"7", "0000:0000:0000:0000:0000:0000:0000:0000\n", "0000:0000:0000:0000:0000:0000:0000:0000\n"},
		"empty slot with a prefix":     {"7", "fe80:0000:0000:0000:0000:0000:0000:0000\n", "fe80:0000:0000:0000:0000:0000:0000:0000\n"},
		"IPv6 address":                 {"x", "at 2a02:db8::5 and fe80::1\n", "at 2001:db8:0:1:200:300:0:1 and fe80::200:300:0:2\n"},
		"IPv4 address":                 {"x", "server 192.0.2.6, 192.0.2.9 and 198.51.100.6\n", "server 10.0.1.1, 10.0.1.2 and 10.0.2.1\n"},
		"localhost":                    {"x", "127.0.0.1 ::1\n", "127.0.0.1 ::1\n"},
		"address of IPoIB":             {"address", "80:00:02:08:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:cb:a5:2c\n", "80:00:02:08:fe:80:00:00:00:00:00:00:02:00:03:00:00:00:00:01\n"},
		"UUID":                         {"product_uuid", "4c4c4544-0042-3510-8053-b4c04f4e3132\n", "a0000000-0000-0000-0000-000000000001\n"},
		"GPU's UUID":                   {"information", "Model: \t NVIDIA H100\nGPU UUID: \t GPU-4c4c4544-0042-3510-8053-b4c04f4e3132\n", "Model: \t NVIDIA H100\nGPU UUID: \t GPU-a0000000-0000-0000-0000-000000000001\n"},
		"hidden UUID":                  {"information", "GPU UUID: \t GPU-????????-????-????-????-????????????\n", "GPU UUID: \t GPU-????????-????-????-????-????????????\n"},
		"video BIOS version":           {"information", "Video BIOS: \t 96.00.61.00.01\n", "Video BIOS: \t 96.00.61.00.01\n"},
		"firmware like an IP address":  {"fw_ver", "20.31.10.14\n", "20.31.10.14\n"},
		"serial number":                {"serial_number", "MT2034X12345\n", "ANON000001\n"},
		"serial number in digits":      {"serial_number", "132401234567890\n", "a00000000000001\n"},
		"serial number in a sentence":  {"information", "Serial Number: \t 0324018012345\nIRQ: 12\n", "Serial Number: \t a000000000001\nIRQ: 12\n"},
		"short serial number":          {"board_serial", " X7\n", " ANON000001\n"},
		"switch":                       {"phys_switch_id", "b2a479a1420c\n", "020000000001\n"},
		"unique id of a GPU":           {"unique_id", "4c4c454400423510\n", "0200030000000001\n"},
		"amount":                       {"mem_info_vram_total", "206141652992\n", "206141652992\n"},
		"PCI ids":                      {"uevent", "DRIVER=mlx5_core\nPCI_ID=15B3:1021\nPCI_SLOT_NAME=0000:17:00.0\nMODALIAS=pci:v000015B3d00001021sv000015B3sd00000023bc02sc00i00\n", ""},
		"node description":             {"node_desc", "gpu17 mlx5_0\n", "anonymous\n"},
		"CPU mask":                     {"local_cpus", "00000000,0000ffff,ffffffff\n", ""},
		"junk":                         {"vendor", "\x00\x01secret\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		"kernel command line":          {"cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=4c4c4544-0042-3510-8053-b4c04f4e3132 ip=192.0.2.6::gw iommu=pt intel_iommu=on pci=realloc user=bob\n", "iommu=pt intel_iommu=on pci=realloc\n"},
		"CPUs":                         {"cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu MHz\t\t: 800.123\nmodel\t\t: 143\n\nprocessor\t: 1\nvendor_id", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 143\n"},
		"process":                      {"self/status", "Name:\thostpingctl\nPid:\t123\nCapEff:\t000001ffffffffff\n", "CapEff:\t000001ffffffffff\n"},
		"host's name":                  {"motd", "GPU17 is gpu17.example.org, not gpu171\n", "host is host.example.org, not gpu171\n"},
		"identity among known numbers": {"note", "206141652992\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.text
			}
			got := anonymised(map[string]string{"proc/" + tt.file: tt.text}, "gpu17")
			require.Len(t, got, 1)
			assert.Equal(t, tt.want, got["proc/"+tt.file].text)
		})
	}
}

// TestNamesThatHoldAddresses: device names made of a MAC or GUID change
// wherever they stand.
func TestNamesThatHoldAddresses(t *testing.T) {
	a := &Archive{map[string]entry{
		"sys/class/net/enx0c42a179a4b2":              {link, "../../devices/x/net/enx0c42a179a4b2"},
		"sys/devices/x/net/enx0c42a179a4b2/address":  {file, "0c:42:a1:79:a4:b2\n"},
		"sys/class/infiniband/rocex0c42a10379a4b200": {link, "../../devices/x/infiniband/rocex0c42a10379a4b200"},
		"sys/class/infiniband_verbs/uverbs0/ibdev":   {file, "rocex0c42a10379a4b200\n"},
		"sys/devices/pci0000:16/0000:16:01.0/vendor": {file, "0x15b3\n"},
	}}
	assert.Equal(t, map[string]entry{
		"sys/class/net/enx020000000001":              {link, "../../devices/x/net/enx020000000001"},
		"sys/devices/x/net/enx020000000001/address":  {file, "02:00:00:00:00:01\n"},
		"sys/class/infiniband/rocex0200030000000001": {link, "../../devices/x/infiniband/rocex0200030000000001"},
		"sys/class/infiniband_verbs/uverbs0/ibdev":   {file, "rocex0200030000000001\n"},
		"sys/devices/pci0000:16/0000:16:01.0/vendor": {file, "0x15b3\n"},
	}, a.Anonymise().entries)
}

// TestReplacementsAreNoOriginals: a host that bears the very addresses that we
// make up keeps none of them.
func TestReplacementsAreNoOriginals(t *testing.T) {
	got := anonymised(map[string]string{
		"sys/a/address": "02:00:00:00:00:02\n", "sys/b/address": "0c:42:a1:79:a4:b2\n", "sys/c/address": "02:00:00:00:00:01\n",
	})
	assert.Equal(t, "02:00:00:00:00:03\n", got["sys/a/address"].text)
	assert.Equal(t, "02:00:00:00:00:04\n", got["sys/b/address"].text)
	assert.Equal(t, "02:00:00:00:00:05\n", got["sys/c/address"].text)
}

// TestHostNameOfADevice: a name that the tree uses for a part is no secret, and
// to replace it would break the tree.
func TestHostNameOfADevice(t *testing.T) {
	got := anonymised(map[string]string{"sys/x/mlx5_0/ibdev": "mlx5_0\n"}, "mlx5_0", "", "localhost")
	assert.Equal(t, "mlx5_0\n", got["sys/x/mlx5_0/ibdev"].text)
}

// TestConfigurationSpace: capabilities that discovery may ask for stay, the
// serial number goes, and so does what nobody knows.
func TestConfigurationSpace(t *testing.T) {
	space := make([]byte, 4096)
	copy(space, "\xb3\x15\x21\x10\x00\x00\x10\x00")
	space[0x34] = 0x60
	copy(space[0x60:], "\x10\x48\x02\x00ABCDEFGH")   // PCI Express, then
	copy(space[0x48:], "\x03\x50\x00\x00VPDADDRESS") // vital product data, then
	copy(space[0x50:], "\x09\x60\x10vendorsecret")   // vendor-specific, and back to the first
	extended := func(at, id, next int) { binary.LittleEndian.PutUint32(space[at:], uint32(id|1<<16|next<<20)) }
	extended(0x100, 0x0003, 0x140)
	binary.LittleEndian.PutUint64(space[0x104:], 0x506b4b0300cba52c)
	extended(0x140, 0x000d, 0x150)
	copy(space[0x144:], "\x5f\x00\x1d\x00")
	extended(0x150, 0x000b, 0x140) // vendor-specific, and back
	copy(space[0x158:], "SERIAL12345")
	copy(space[0x800:], "left over")

	got := anonymised(map[string]string{"sys/a/config": string(space), "sys/a/node_guid": "506b:4b03:00cb:a52c\n"})
	kept := got["sys/a/config"].text
	require.Len(t, kept, 4096)
	assert.Equal(t, string(space[:64]), kept[:64])
	assert.Equal(t, "\x10\x48\x02\x00ABCDEFGH", kept[0x60:0x6c])
	assert.Equal(t, "\x5f\x00\x1d\x00", kept[0x144:0x148])
	for _, secret := range []string{"VPDADDRESS", "vendorsecret", "SERIAL", "left over"} {
		assert.NotContains(t, kept, secret)
	}
	assert.Equal(t, "0200:0300:0000:0001\n", got["sys/a/node_guid"].text)
	assert.Equal(t, uint64(0x0200030000000001), binary.LittleEndian.Uint64([]byte(kept[0x104:])), "as the GUID of the same value")
	for _, length := range []int{0, 4, 63, 64, 65, 256, 260} {
		assert.Len(t, anonymised(map[string]string{"sys/a/config": string(space[:length])})["sys/a/config"].text, length)
	}
}

// TestNothingLeaks fills trees with random identities in every form and place, and
// looks for their digits and words in what would be written.
func TestNothingLeaks(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		id := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			b[0] |= 0x10 // neither none nor all ones
			b[n-1] &^= 1
			return b
		}
		word := func() string {
			return fmt.Sprintf("Q%cZ%07d", 'A'+r.IntN(26), r.IntN(1e7))
		}
		var secrets []string // lower case, without separators
		secret := func(s string) string {
			secrets = append(secrets, strings.ToLower(s))
			return s
		}
		digits := func(b []byte) string { return secret(hex.EncodeToString(b)) }
		cut := func(s string, n int, separator string) string {
			var parts []string
			for ; len(s) > 0; s = s[n:] {
				parts = append(parts, s[:n])
			}
			return strings.Join(parts, separator)
		}

		mac, guid, serial, hostName := id(6), id(8), id(8), "hq"+strings.ToLower(word())
		eui := []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}
		ip := []byte{11 + byte(r.IntN(110)), byte(r.IntN(256)), byte(r.IntN(256)), byte(1 + r.IntN(254))}
		mapped := append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, ip...)
		secrets = append(secrets, netip.AddrFrom4([4]byte(ip)).String(), hostName)
		uuid := digits(id(16))
		config := make([]byte, 4096)
		copy(config, "\xb3\x15\x21\x10\x00\x00\x10\x00")
		binary.LittleEndian.PutUint32(config[256:], 3|1<<16)
		binary.LittleEndian.PutUint64(config[260:], binary.BigEndian.Uint64(serial))
		binary.LittleEndian.PutUint64(serial, binary.BigEndian.Uint64(serial))
		global := append([]byte{0x2a}, id(15)...)
		device, net := "rocex"+digits(guid), "enx"+digits(mac)
		a := &Archive{map[string]entry{
			"sys/class/infiniband/" + device:               {link, "../../devices/pci0000:16/0000:17:00.0/infiniband/" + device},
			"sys/class/infiniband/x/node_guid":             {file, cut(digits(guid), 4, ":") + "\n"},
			"sys/class/infiniband/x/sys_image_guid":        {file, strings.ToUpper(cut(digits(id(8)), 4, ":")) + "\n"},
			"sys/class/infiniband/x/node_desc":             {file, hostName + " HCA-1\n"},
			"sys/class/infiniband/x/ports/1/gids/0":        {file, "fe80:0000:0000:0000:" + cut(digits(eui), 4, ":") + "\n"},
			"sys/class/infiniband/x/ports/1/gids/1":        {file, cut(hex.EncodeToString(mapped), 4, ":") + "\n"},
			"sys/class/infiniband/x/ports/1/gids/2":        {file, cut(digits(global), 4, ":") + "\n"},
			"sys/class/infiniband/x/ports/1/gids/3":        {file, netip.AddrFrom16([16]byte(global)).String() + "\n"},
			"sys/class/net/" + net + "/address":            {file, cut(digits(mac), 2, ":") + "\n"},
			"sys/class/net/ib0/address":                    {file, "80:00:02:08:fe:80:00:00:00:00:00:00:" + cut(digits(id(8)), 2, ":") + "\n"},
			"sys/class/net/ib0/phys_switch_id":             {file, digits(id(5+r.IntN(12))) + "\n"},
			"sys/devices/vmbus/" + dashed(uuid) + "/class": {file, "0x030200\n"},
			"sys/devices/pci0000:16/0000:17:00.0/config":   {file, string(config)},
			"sys/devices/gpu/serial_number":                {file, secret(word()) + "\n"},
			"sys/devices/gpu/unique_id":                    {file, digits(id(8)) + "\n"},
			"sys/devices/gpu/vpd":                          {file, "\x82\x00" + secret(word())},
			"proc/driver/nvidia/gpus/g/information":        {file, "Model: NVIDIA H100\nGPU UUID: GPU-" + dashed(digits(id(16))) + "\nSerial: " + secret(word()) + "\n"},
			"proc/cmdline":                                 {file, "ip=" + netip.AddrFrom4([4]byte(ip)).String() + " iommu=pt root=/dev/" + secret(word()) + "\n"},
			"proc/sys/kernel/hostname":                     {file, hostName + "\n"},
			"proc/note":                                    {file, "made on " + strings.ToUpper(hostName) + " at " + netip.AddrFrom4([4]byte(ip)).String() + "\n"},
		}}
		secrets = append(secrets, hex.EncodeToString(serial), hex.EncodeToString(mapped))
		var text bytes.Buffer
		require.NoError(t, a.Anonymise(hostName+".example.org").Write(&text, ""))
		shown := strings.ToLower(text.String())
		bare := strings.NewReplacer(":", "", "-", "", " ", "").Replace(shown)
		for _, secret := range secrets {
			require.NotContains(t, shown, secret, "seed %d\n%s", seed, shown)
			require.NotContains(t, bare, secret, "seed %d\n%s", seed, shown)
		}
	}
}

func dashed(digits string) string {
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}

// FuzzAnonymise: whatever a file holds, it is anonymised without a fault, the
// same way each time, and configuration space keeps its length.
func FuzzAnonymise(f *testing.F) {
	f.Add("config", "\xb3\x15\x21\x10\x00\x00\x10\x00")
	f.Add("address", "0c:42:a1:79:a4:b2\n")
	f.Add("0", "0000:0000:0000:0000:0000:ffff:c000:0206\n")
	f.Add("information", "Serial: x\nGPU UUID: GPU-4c4c4544-0042-3510-8053-b4c04f4e3132\n2a02:db8::5 192.0.2.6 enx0c42a179a4b2")
	f.Fuzz(func(t *testing.T, base, text string) {
		name := "sys/x/" + base
		got := anonymised(map[string]string{name: text}, "gpu17")
		require.Equal(t, got, anonymised(map[string]string{name: text}, "gpu17"))
		for _, e := range got {
			if base == "config" {
				require.Len(t, e.text, len(text))
			}
		}
	})
}
