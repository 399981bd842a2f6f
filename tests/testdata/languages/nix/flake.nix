{
  description = "Observatory: telescope = { fake = true; };";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
    flake-utils.url = "github:numtide/flake-utils";
    mirror = {
      url = "path:./mirror";
      inputs.nixpkgs.follows = "nixpkgs";
      flake = false;
    };
    "odd-name".url = "git+https://example.org/odd";
  };

  nixConfig.extra-substituters = [ "https://cache.example.org" ];

  outputs = inputs@{ self, nixpkgs, flake-utils, ... }:
    let
      inherit (nixpkgs) lib;
      inherit (lib)
        mkOption
        types
        ;
      systems = [ "x86_64-linux" "aarch64-darwin" ];
      eachSystem = f: lib.genAttrs systems (system: f {
        inherit system;
        pkgs = import nixpkgs { inherit system; overlays = [ self.overlays.default ]; };
      });
      version = "1.${builtins.substring 0 8 (self.lastModifiedDate or "19700101")}";
      # Reads a catalogue of stars.
      readCatalogue = path: { magnitude ? 6, ... }@args: builtins.filter (star: star.m < magnitude) (import path args);
      compose = f: g: x: f (g x);
      "quoted name" = 1;
      ${"dynamic"} = 2;
    in
    {
      overlays.default = final: prev: {
        telescope = final.callPackage ./nix/telescope.nix { inherit version; };
        python3 = prev.python3.override {
          packageOverrides = pyFinal: pyPrev: {
            astro = pyPrev.astro.overridePythonAttrs (old: rec {
              version = "5.3";
              src = prev.fetchFromGitHub {
                owner = "example";
                repo = "astro";
                rev = "v${version}";
                hash = "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
              };
              propagatedBuildInputs = old.propagatedBuildInputs ++ (with pyFinal; [ numpy scipy ]);
            });
          };
        };
      };

      packages = eachSystem ({ pkgs, system }: rec {
        default = telescope;
        telescope = pkgs.stdenv.mkDerivation (finalAttrs: {
          pname = "telescope";
          inherit version;
          src = lib.cleanSource ./.;
          nativeBuildInputs = [ pkgs.cmake ] ++ lib.optionals pkgs.stdenv.isLinux [ pkgs.systemd ];
          cmakeFlags = [ (lib.cmakeBool "WITH_MOUNT" true) ];
          postPatch = ''
            # notAnAttribute = { inString = true; };
            substituteInPlace src/main.c --replace "@out@" "${placeholder "out"}"
            echo ''${HOME} ''\n ''' quoted '''
          '';
          doCheck = system != "aarch64-darwin";
          passthru.tests = { smoke = finalAttrs.finalPackage.overrideAttrs { doCheck = true; }; };
          meta = with lib; {
            description = "Points at stars";
            license = licenses.mit;
            platforms = platforms.unix;
          };
        });
        docs = pkgs.runCommand "docs" { buildInputs = [ pkgs.mdbook ]; } ''
          mdbook build ${./docs} -d $out
        '';
        script = pkgs.writeShellScriptBin "point" ''
          point() { fake = 1; }
        '';
      });

      devShells = eachSystem ({ pkgs, ... }: {
        default = pkgs.mkShell {
          packages = builtins.attrValues { inherit (pkgs) cmake gdb; };
          shellHook = "export STARS=${toString ./data/stars.json}";
        };
      });

      nixosModules.default = { config, lib, pkgs, modulesPath, ... }@args:
        let
          cfg = config.services.observatory;
          mountType = types.submodule ({ name, ... }: {
            options = {
              axis = mkOption {
                type = types.enum [ "alt" "az" ];
                default = "alt";
              };
              speed = mkOption { type = types.float; };
            };
            config.speed = lib.mkDefault 1.5;
          });
          unitOf = name: mount: lib.nameValuePair "mount-${name}" {
            description = "Mount ${name}";
            script = lib.getExe cfg.package + " ${mount.axis}";
          };
        in
        {
          imports = [
            "${modulesPath}/profiles/minimal.nix"
            ./modules/dome.nix
            (import ./modules/weather.nix { inherit lib; })
          ];
          options.services.observatory = {
            enable = lib.mkEnableOption "the observatory";
            package = lib.mkPackageOption pkgs "telescope" { };
            mounts = mkOption {
              type = types.attrsOf mountType;
              default = { };
              example = lib.literalExpression ''{ main = { speed = 2.0; }; }'';
            };
          };
          config = lib.mkMerge [
            (lib.mkIf cfg.enable {
              systemd.services = lib.mapAttrs' unitOf cfg.mounts;
              users.users.observer = {
                isSystemUser = true;
                group = "observer";
              };
              users.groups.observer = { };
            })
            {
              assertions = [{
                assertion = cfg.mounts != { } -> cfg.enable;
                message = "mounts without ${lib.concatStringsSep ", " [ "an" "observatory" ]}";
              }];
              networking.firewall.allowedTCPPorts = lib.mkIf cfg.enable [ 7624 ];
              environment.etc."observatory.conf".text = lib.generators.toINI { } {
                dome.open = false;
              };
            }
          ];
        };

      checks.x86_64-linux.lint =
        let pkgs = nixpkgs.legacyPackages.x86_64-linux; in
        assert lib.versionAtLeast lib.version "23.05";
        if pkgs.stdenv.isLinux then pkgs.hello else throw "no { linux = true; }";

      lib = {
        inherit readCatalogue compose;
        hours = angle: let turn = 360; in angle * 24 / turn;
        recursive = let self = { a = 1; b = self.a + 1; }; in self;
        nested.deep.value = 3;
      };
    };
}
